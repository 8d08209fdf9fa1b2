// Compiles each schema by itself, as strictly as Ajv can, and judges the instances that stdin gives:
// whether each is valid, and the `$comment` beside each of its errors that has one.
// node strict-schemas.mjs AJV_FOLDER < {"schemas": {NAME: SCHEMA}, "instances": [[NAME, INSTANCE]]}
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const require = createRequire(resolve(process.argv[2], "index.js"));
const Ajv = require("ajv/dist/2020.js").default;
const { schemas, instances } = JSON.parse(readFileSync(0, "utf8"));

const warnings = [], warn = (...words) => warnings.push(words.join(" "));
const options = { strict: true, strictTypes: true, strictTuples: true, strictRequired: true,
  allErrors: true, verbose: true, logger: { log() {}, warn, error: warn } };
const compiled = Object.fromEntries(Object.entries(schemas).map(([name, schema]) => (
  [name, new Ajv(options).compile(schema)])));
const errors = instances.map(([name, instance]) => (
  compiled[name](instance) ? [] : compiled[name].errors));
const valid = errors.map(({ length }) => !length);
const clauses = errors.map((all) => all.flatMap(({ parentSchema }) => parentSchema.$comment ?? []));
console.log(JSON.stringify({ warnings, valid, clauses }));
