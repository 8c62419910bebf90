import { request as plain } from 'node:http';
import { request as secure } from 'node:https';

/** No node answered, or none that had it. It says nothing about the release. */
export class NotReached extends Error {}

const ANSWER_MS = 60_000;

/** What a node has at this path, of at most so many bytes. Follows nobody elsewhere. */
export function fetchFrom(url: string, path: string, maxBytes: number): Promise<Buffer> {
  const address = new URL(path, url);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const fail = (problem: string): void => reject(new NotReached(`${address.origin}${path}: ${problem}`));
  const options = { signal: AbortSignal.timeout(ANSWER_MS), headers: { 'accept-encoding': 'identity' } };
  const request = (address.protocol === 'https:' ? secure : plain)(address, options, (response) => {
    if (response.statusCode !== 200) {
      response.destroy();
      return fail(`the node answers ${response.statusCode}`);
    }
    const chunks: Buffer[] = [];
    let size = 0;
    response.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) return void chunks.push(chunk);
      response.destroy();
      reject(new Error(`${path} is larger than ${maxBytes} bytes`));
    });
    response.on('error', (error) => fail(error.message));
    response.on('end', () => resolve(Buffer.concat(chunks)));
  });
  request.on('error', (error) => fail(error.message));
  request.end();
  return promise;
}
