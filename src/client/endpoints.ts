import { fault } from '../core/errors.ts';

/** The nodes of one cluster. One of them is asked until it is away: then the next one, for all who ask. */
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

  /** That one is away. Who says it late says nothing new. */
  failOver(origin: string): void {
    if (origin === this.current) this.#at++;
  }
}

/** The address of a node: scheme, host and port. What stands behind them is no part of it. */
export function originOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed !== undefined && /^https?:$/.test(parsed.protocol) && parsed.username === '' && parsed.password === '') {
    return parsed.origin;
  }
  // Not the whole of it: who puts a token into an address should not find it in a log.
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
