"""A Spark of its own for the tests, on two threads of this machine."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from typing import Any

WITHOUT_SPARK = ""
if find_spec("pyspark") is None:
    WITHOUT_SPARK = "PySpark is not installed: pip install 'bayeskit[spark]'"
elif shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    WITHOUT_SPARK = "Spark needs Java 17 or later: apt-get install openjdk-17-jre-headless"


@cache
def spark_session() -> Any:
    """Return the Spark of this process, which tries a task four times and listens to this machine alone."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    folder = tempfile.mkdtemp(prefix="bayeskit-spark-")
    session = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.local.dir", folder)
        .config("spark.sql.warehouse.dir", folder)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    # The last to be registered is the first to be called: Spark stops before its folder goes.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(session.stop)
    return session
