// Bundles src/ into the package. The digest of the sources is the first line of the script, so that a test can tell
// without Node whether the bundle is that of the sources.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";

const page = "../src/bayeskit/_web/page/";
const digest = createHash("sha256");
for (const name of readdirSync("src").sort()) digest.update(readFileSync(`src/${name}`));
const how = {
  outdir: page,
  bundle: true,
  minify: true,
  charset: "utf8",
  format: "iife",
  target: "es2022",
  legalComments: "none",
  banner: {
    js: `// Built from web/src, sha256 ${digest.digest("hex")}. With @dagrejs/dagre 3.1.1 (MIT, see LICENSES.txt).`,
  },
};
// The worker is a file of the server; a page without a server has it as a text.
await build({ ...how, entryPoints: ["src/layout.ts"] });
const code = JSON.stringify(readFileSync(`${page}layout.js`, "utf8"));
await build({ ...how, entryPoints: { explorer: "src/served.ts" }, define: { LAYOUT_CODE: '""' } });
await build({ ...how, entryPoints: ["src/widget.ts"], format: "esm" });
await build({ ...how, entryPoints: ["src/published.ts"], define: { LAYOUT_CODE: code } });
for (const name of ["explorer.html", "explorer.css"]) copyFileSync(`src/${name}`, page + name);
