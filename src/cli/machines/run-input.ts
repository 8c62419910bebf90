import { createReadStream } from 'node:fs';
import { fault } from '../../core/errors.ts';

const MOST_BYTES = 4 * 1024 * 1024;
const HINT = `Quote it for the shell: leasehold run FILE --input '{"key": "value"}', or --input @FILE.`;

/** The input of a run: JSON as it stands, `@FILE`, or `-` for standard input. It is a map. */
export async function readRunInput(text: string | undefined): Promise<Readonly<Record<string, unknown>>> {
  if (text === undefined) return {};
  const file = text.startsWith('@') ? text.slice(1) : undefined;
  const field = text === '-' ? 'standard input' : (file ?? '--input');
  const json = text === '-' ? await textOf(process.stdin, field) : file === undefined ? text : await fileText(file);
  let value: unknown;
  try {
    value = JSON.parse(json.replace(/^\ufeff/, ''));
  } catch (error) {
    throw fault('INVALID_INPUT', { field, problem: `it is not JSON (${(error as Error).message})` }, { hint: HINT });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw fault('INVALID_INPUT', { field, problem: 'it is not a map' }, { hint: HINT });
}

async function fileText(file: string): Promise<string> {
  try {
    return await textOf(createReadStream(file), file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw fault('NOT_FOUND', { kind: 'file', id: file }, { hint: 'Check the path of --input.' });
  }
}

/** No more than a run may have. */
async function textOf(source: AsyncIterable<Buffer | string>, field: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    const part = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > MOST_BYTES) throw fault('TOO_LARGE', { field, maxBytes: MOST_BYTES });
    chunks.push(part);
  }
  return Buffer.concat(chunks).toString('utf8');
}
