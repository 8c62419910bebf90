import { fault } from '../core/errors.ts';

/** The nodes of one cluster. All callers use one node until it is away, then the next one. */
export class Endpoints {
  readonly all: readonly [string, ...string[]];
  #at = 0;

  /** Addresses with commas between them. */
  constructor(urls: string) {
    this.all = urls.split(',').map((url) => originOf(url.trim())) as [string, ...string[]];
  }

  get current(): string {
    return this.all[this.#at % this.all.length] as string;
  }

  /** That node is away. A late report about a node that is no longer current changes nothing. */
  failOver(origin: string): void {
    if (origin === this.current) this.#at++;
  }
}

/** The address of a node: scheme, host and port. A path is dropped. */
export function originOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed !== undefined && /^https?:$/.test(parsed.protocol) && parsed.username === '' && parsed.password === '') {
    return parsed.origin;
  }
  // Shortened: a token that somebody put into an address must not end up in a log.
  const shown =
    parsed === undefined ? url.replace(/\/\/[^/]*@/, '//').slice(0, 80) : `${parsed.protocol}//${parsed.host}`;
  throw fault(
    'INVALID_INPUT',
    { field: 'address of the node', problem: `${JSON.stringify(shown)} is not one` },
    {
      hint: 'It looks like http://127.0.0.1:7420 or https://tasks.example.org; those of several nodes have commas between them.',
    },
  );
}
