import { fault } from '../../core/errors.ts';

/** Far above the largest input of a store: a longer text is no line. */
const LONGEST = 4 * 1024 * 1024;

const PUSH_HINT = `Quote it for the shell: leasehold push QUEUE '{"key": "value"}'. A text has quotes of its own: '"text"'.`;

/** The input from the command line. */
export function parseInline(text: string, hint = PUSH_HINT): unknown {
  return parse(text, 'JSON', hint);
}

/**
 * Reads inputs from a stream: one JSON value a line, or the whole text as one value. The first line decides: when it is JSON by
 * itself, each of the others must be too. Inputs come in groups as they arrive, at most `most` at once: a slow source is not waited
 * for, and a fast one is read by the thousand.
 */
export async function* readInputs(
  source: AsyncIterable<string>,
  { name, most }: { readonly name: string; readonly most: number },
): AsyncGenerator<readonly unknown[]> {
  let form: 'unknown' | 'lines' | 'whole' = 'unknown';
  let rest = '';
  let number = 0;
  for await (const chunk of source) {
    rest = number === 0 && rest === '' ? chunk.replace(/^\ufeff/, '') : rest + chunk;
    const lines: string[] = form === 'whole' ? [rest] : rest.split('\n');
    rest = lines.pop() as string;
    let group: unknown[] = [];
    for (const [i, text] of lines.entries()) {
      if (form === 'unknown' && text.trim() !== '') form = isJson(text) ? 'lines' : 'whole';
      if (form === 'whole') {
        rest = [...lines.slice(i), rest].join('\n');
        break;
      }
      number += 1;
      if (text.trim() === '') continue;
      group.push(parse(text, `line ${number} of ${name}`));
      if (group.length < most) continue;
      yield group;
      group = [];
    }
    if (group.length > 0) yield group;
    if (rest.length > LONGEST) throw fault('TOO_LARGE', { field: `text in ${name}`, maxBytes: LONGEST });
  }
  if (rest.trim() !== '') yield [parse(rest, form === 'lines' ? `line ${number + 1} of ${name}` : name)];
  else if (form === 'unknown') throw fault('INVALID_INPUT', { field: name, problem: 'it is empty' });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function parse(text: string, field: string, hint?: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const problem = `it is not JSON (${(error as Error).message})`;
    throw fault('INVALID_INPUT', { field, problem }, hint === undefined ? {} : { hint });
  }
}
