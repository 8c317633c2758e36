/** Records what was built from what, as hashes, so that a test can tell without Node.js that the built files are current. */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const STATIC = "../src/conspectus/server/static";
const MAP = "../src/conspectus/interchange/map";
const RECORD = "built.json";

/** The hash of files with their paths, in the order of the paths. */
function hashOf(files) {
  const hash = createHash("sha256");
  for (const [name, path] of files.sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${name}\0`).update(readFileSync(path)).update("\0");
  }
  return hash.digest("hex");
}

function filesIn(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => {
    const path = `${entry.parentPath}/${entry.name}`.replaceAll("\\", "/");
    return [path.slice(folder.length + 1), path];
  });
}

const named = (files, prefix) => files.map(([name, path]) => [`${prefix}/${name}`, path]);
const top = readdirSync(".", { withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.(html|json|mjs|ts)$/.test(entry.name))
  .map((entry) => [entry.name, entry.name]);
const record = {
  sources: hashOf([...top, ...named(filesIn("src"), "src"), ...named(filesIn("public"), "public")]),
  built: hashOf([
    ...named(filesIn(STATIC).filter(([name]) => name !== RECORD), "static"),
    ...["map.css", "map.js"].map((name) => [`map/${name}`, `${MAP}/${name}`]),
  ]),
};
writeFileSync(`${STATIC}/${RECORD}`, `${JSON.stringify(record, null, 2)}\n`);
