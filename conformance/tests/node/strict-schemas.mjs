// Compiles each schema by itself, as strictly as Ajv can, and judges the instances that stdin gives.
// node strict-schemas.mjs AJV_FOLDER < {"schemas": {NAME: SCHEMA}, "instances": [[NAME, INSTANCE]]}
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const require = createRequire(resolve(process.argv[2], "index.js"));
const Ajv = require("ajv/dist/2020.js").default;
const { schemas, instances } = JSON.parse(readFileSync(0, "utf8"));

const warnings = [];
const logger = { log() {}, warn: (...words) => warnings.push(words.join(" ")), error: (...words) => warnings.push(words.join(" ")) };
const compiled = Object.fromEntries(Object.entries(schemas).map(([name, schema]) => {
  const ajv = new Ajv({ strict: true, strictTypes: true, strictTuples: true, strictRequired: true, allErrors: true, logger });
  return [name, ajv.compile(schema)];
}));
const valid = instances.map(([name, instance]) => compiled[name](instance));
console.log(JSON.stringify({ warnings, valid }));
