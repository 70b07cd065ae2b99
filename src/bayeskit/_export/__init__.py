"""Private: fitted models in other languages. SQL, ONNX and JSON are writers of the same formula."""
