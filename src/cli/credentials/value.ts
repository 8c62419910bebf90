import { readFileSync } from 'node:fs';
import type { ReadStream } from 'node:tty';
import type { Config } from '../../config/options.ts';
import { fault } from '../../core/errors.ts';
import type { CallInput } from '../../operate/operator.ts';

/** More than a value may have, so that its bound is told by whoever checks it. */
const MOST_BYTES = 1024 * 1024;

/** The value of a credential: of a file, of the standard input, or of somebody who types it unseen. One line break at its end is none of it. */
export async function readValue(
  config: Config,
  name: string,
): Promise<Pick<CallInput<'setCredential'>['body'], 'value' | 'fields' | 'type'>> {
  const { credentialFile: file, credentialFields: isObject, credentialType: type } = config;
  const text = (await textOf(file, name)).replace(/\r?\n$/, '');
  if (text === '') throw refuse('it is empty');
  if (!isObject) return { value: text };
  return { fields: fieldsOf(text), ...(type === undefined ? {} : { type }) };
}

async function textOf(file: string | undefined, name: string): Promise<string> {
  if (file !== undefined) return fileText(file);
  if (process.stdin.isTTY) return typed(process.stdin, name);
  let text = '';
  process.stdin.setEncoding('utf8');
  for await (const chunk of process.stdin) {
    text += chunk as string;
    if (text.length > MOST_BYTES) throw refuse('it is too long');
  }
  return text;
}

function fileText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw refuse(`${file} cannot be read`);
    throw fault('NOT_FOUND', { kind: 'file', id: file });
  }
}

/** What is typed is shown nowhere. Enter ends it; Ctrl-C and Ctrl-D mean that there is none. */
function typed(input: ReadStream, name: string): Promise<string> {
  process.stderr.write(`Value of ${name} (it is not shown): `);
  input.setRawMode(true);
  input.setEncoding('utf8');
  return new Promise<string>((resolve, reject) => {
    let text = '';
    const end = (act: () => void): void => {
      input.off('data', hear);
      input.setRawMode(false);
      input.pause();
      process.stderr.write('\n');
      act();
    };
    const hear = (chunk: string): void => {
      for (const one of chunk) {
        if (one === '\r' || one === '\n') return end(() => resolve(text));
        if (one === '\u0003' || one === '\u0004') return end(() => reject(refuse('nothing was typed')));
        text = one === '\u007f' || one === '\b' ? text.slice(0, -1) : text + one;
      }
    };
    input.on('data', hear);
    input.resume();
  });
}

/** The message of the parser would quote what it has read. */
function fieldsOf(text: string): Readonly<Record<string, string>> {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw refuse('with --fields it is a JSON object of texts');
  }
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
  if (isObject && Object.values(given as object).every((one) => typeof one === 'string')) {
    return given as Readonly<Record<string, string>>;
  }
  throw refuse('with --fields it is a JSON object of texts');
}

function refuse(problem: string): Error {
  return fault('INVALID_INPUT', { field: 'value', problem });
}
