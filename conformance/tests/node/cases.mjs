// The cases of a file, as objects: it has one, or those of an area; .github/CASES.md says how.
const PLACES = /(?<!\\)"\{(\w+)\}"|\{(\w+)\}/g;

export function casesOf(file) {
  const { area, shared, cases = [file] } = file;
  return cases.flatMap(({ columns = [], rows = [null], ...own }) => rows.map((row) => {
    const text = JSON.stringify({ area, ...shared, ...own });
    const value = (name) => JSON.stringify(row[columns.indexOf(name)]);
    const fill = (_, all, part) => (all ? value(all) : value(part).replace(/^"|"$/g, ''));
    return JSON.parse(row ? text.replace(PLACES, fill) : text);
  }));
}
