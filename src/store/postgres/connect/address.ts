import type { ClientConfig } from 'pg';
import { fault } from '../../../core/errors.ts';

/** A parsed `postgres://` URL. Parameters of ours are removed before the driver sees it. */
export interface Address {
  readonly config: ClientConfig;
  /** Quoted. */
  readonly schema: string;
  readonly pool: number;
  /** A pooler in transaction mode is in between: no named statements, no LISTEN, no session settings. */
  readonly pooled: boolean;
  /** The URL says whether there is a pooler. Otherwise it is detected. */
  readonly asked: boolean;
  /** Without the password, for messages. */
  readonly name: string;
}

/** Plans of the fast paths are pinned (plans.test.ts): the planner's statistics of a queue are always out of date. */
export const SETTINGS = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
  // A process that is stopped inside a transaction holds its locks no longer than this. It is no longer than the
  // shortest lease of a leader: a process that was stopped during a prune kept the pruner from its successor for five
  // seconds.
  idle_in_transaction_session_timeout: '2s',
  statement_timeout: '30s',
  // Well within the deadline of a call, so that the call can say what it waited for.
  lock_timeout: '4s',
} as const;

/** Behind a pooler these are set in each transaction. The others are for speed only. */
export const IN_TRANSACTION = (['idle_in_transaction_session_timeout', 'statement_timeout', 'lock_timeout'] as const)
  .map((name) => `SET LOCAL ${name} = '${SETTINGS[name]}'`)
  .join('; ');

const DEFAULT_POOL = 6;

export function parseAddress(url: string): Address {
  let parsed: URL;
  try {
    // A URL without a host is valid for a socket, but not for this parser.
    parsed = new URL(url.replace(/^(postgres(?:ql)?:\/\/(?:[^/@]*@)?)(?=\/)/, '$1localhost'));
  } catch {
    throw bad('it is not a URL');
  }
  const { searchParams } = parsed;
  const schema = searchParams.get('schema') ?? 'leasehold';
  const pool = Number(searchParams.get('pool') ?? DEFAULT_POOL);
  const pooler = searchParams.get('pooler') ?? 'unknown';
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(schema)) throw bad(`schema ${JSON.stringify(schema)} is not a plain name`);
  if (/^(pg_|information_schema$)/.test(schema)) throw bad(`schema ${JSON.stringify(schema)} is the database's own`);
  if (!Number.isInteger(pool) || pool < 1 || pool > 1000) throw bad('pool is not a number from 1 to 1000');
  if (!['unknown', 'none', 'transaction'].includes(pooler)) throw bad('pooler is neither "none" nor "transaction"');
  const pooled = pooler === 'transaction';
  const own = searchParams.get('options') ?? '';
  const { hostname, port, pathname } = parsed;
  const host = searchParams.get('host') ?? hostname;
  for (const name of ['schema', 'pool', 'pooler', 'options']) searchParams.delete(name);
  return {
    config: {
      connectionString: stripped(url, parsed),
      application_name: searchParams.get('application_name') ?? 'leasehold',
      ...(pooled ? optionsOf(own) : optionsOf(own, SETTINGS)),
    },
    schema: `"${schema}"`,
    pool,
    pooled,
    asked: pooler !== 'unknown',
    name: `${host}${port === '' ? '' : `:${port}`}${pathname}`,
  };
}

/** The same address, after a pooler was detected. */
export function behindPooler(address: Address): Address {
  const { options = '', ...config } = address.config;
  const own = options.replace(settings(SETTINGS), '');
  return { ...address, config: { ...config, ...optionsOf(own) }, pooled: true };
}

function optionsOf(own: string, ours: Readonly<Record<string, string>> = {}): { readonly options?: string } {
  const options = `${own} ${settings(ours)}`.trim();
  return options === '' ? {} : { options };
}

function settings(ours: Readonly<Record<string, string>>): string {
  const all = Object.entries(ours);
  return all.map(([key, value]) => `-c ${key}=${value}`).join(' ');
}

/** The URL without the parameters that are ours. */
function stripped(url: string, { searchParams }: URL): string {
  const query = searchParams.toString();
  const base = url.split('?')[0] as string;
  return query === '' ? base : `${base}?${query}`;
}

function bad(problem: string): Error {
  const hint =
    'Give postgres://USER@HOST:PORT/DATABASE, with ?schema=NAME and ?pool=N if you like, and the password in PGPASSWORD.';
  return fault('INVALID_INPUT', { field: 'store URL', problem }, { hint });
}
