/** A machine or a graph in JSON, read by `JSON.parse`: 4 MiB in a tenth of a second, where the parser of YAML takes several. */
import { depthOf, MOST_DEPTH } from './depth.ts';
import { jsonPlacesOf } from './json-places.ts';
import { type MachineText, wrong } from './parsed-text.ts';

/** Undefined: it is no JSON. Throws `INVALID_INPUT` with the line for what JSON allows, and a machine does not. */
export function parseJson(text: string, name: string): MachineText | undefined {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null) return undefined;
  if (depthOf(value) > MOST_DEPTH) throw wrong(name, `it is nested more than ${MOST_DEPTH} deep`, 1);
  const { placeOf, twice, endless } = jsonPlacesOf(text);
  if (twice !== undefined) throw wrong(name, 'Map keys must be unique', lineAt(text, twice));
  if (endless !== undefined) {
    const number = /^[^\s,\]}]{1,40}/.exec(text.slice(endless, endless + 40))?.[0];
    throw wrong(name, `${number} is no number that JSON can say`, lineAt(text, endless));
  }
  return { value, lineOf: (path) => lineAt(text, placeOf(path)) };
}

function parsed(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function lineAt(text: string, place: number): number {
  let line = 1;
  for (let i = text.indexOf('\n'); i >= 0 && i < place; i = text.indexOf('\n', i + 1)) line++;
  return line;
}
