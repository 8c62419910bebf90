import { isChosen } from '../../core/credential/choice.ts';
import {
  afterReport,
  afterTerms,
  HOLDING_STATUSES,
  type Holding,
  type HoldingStatus,
  type HoldingTerms,
  isHeld,
  type VaultSaid,
} from '../../core/credential/holding.ts';
import {
  CREDENTIAL_LEVELS,
  DEMANDED_LEVELS,
  type DemandedLevel,
  type KnownLevel,
} from '../../core/credential/level.ts';
import { CREDENTIAL } from '../../core/placement/tag.ts';
import {
  CREDENTIAL_KINDS,
  type CredentialKind,
  type CredentialRecord,
  type HoldingRecord,
  type PendingCredential,
} from '../port/admin/credential-store.ts';

/** Credentials and their holders from rows whose columns have the same names in every store. */

export interface CredentialRow {
  readonly name: string;
  readonly version: number;
  readonly present: number | boolean;
  readonly kind: number;
  readonly type: string | null;
  readonly workers: string;
  readonly tags: string;
  readonly level: number | null;
  readonly created_at: number;
  readonly changed_at: number;
}

export function credentialOf(row: CredentialRow): CredentialRecord {
  return {
    name: row.name,
    version: row.version,
    present: Boolean(row.present),
    kind: CREDENTIAL_KINDS[row.kind] as CredentialKind,
    type: row.type ?? undefined,
    workers: JSON.parse(row.workers) as string[],
    tags: JSON.parse(row.tags) as string[],
    level: demandedOf(row.level),
    createdAt: row.created_at,
    changedAt: row.changed_at,
  };
}

export const kindCode = (kind: CredentialKind): number => CREDENTIAL_KINDS.indexOf(kind);

export function demandCode(level: DemandedLevel | undefined): number | null {
  return level === undefined ? null : DEMANDED_LEVELS.indexOf(level);
}

function demandedOf(code: number | null): DemandedLevel | undefined {
  return code === null ? undefined : DEMANDED_LEVELS[code];
}

/** The position is the number that the stores write. */
const LEVELS: readonly KnownLevel[] = [...CREDENTIAL_LEVELS, 'unknown'];

export interface HoldingRow {
  readonly worker: string;
  readonly credential: string;
  readonly status: number;
  readonly wanted: number;
  readonly acked: number | null;
  readonly level: number | null;
  readonly error: string | null;
  readonly asked_at: number;
  readonly changed_at: number;
}

export function holdingOf(row: HoldingRow): HoldingRecord {
  return {
    worker: row.worker,
    credential: row.credential,
    status: HOLDING_STATUSES[row.status] as HoldingStatus,
    wanted: row.wanted,
    acked: row.acked ?? undefined,
    level: row.level === null ? undefined : LEVELS[row.level],
    error: row.error ?? undefined,
    askedAt: row.asked_at,
    changedAt: row.changed_at,
  };
}

export interface PendingRow extends Pick<HoldingRow, 'worker' | 'credential' | 'status' | 'wanted' | 'level'> {}

/** `level` is what its credential demands. */
export function pendingOf({ worker, credential, status, wanted, level }: PendingRow): PendingCredential {
  const removes = HOLDING_STATUSES[status] === 'removing';
  return { worker, credential, version: wanted, level: removes ? undefined : { demanded: demandedOf(level) } };
}

/** One holding that changes. Undefined: it goes. */
export interface HoldingChange {
  readonly worker: string;
  readonly credential: string;
  readonly holding: Holding | undefined;
}

const MOST_ERROR = 500;

/** The values of a row, but for its times. */
export function holdingValues({ worker, credential, holding }: HoldingChange & { readonly holding: Holding }) {
  const { status, wanted, acked = null, level, error } = holding;
  const text = error === undefined ? null : error.slice(0, MOST_ERROR).replaceAll('\0', '').toWellFormed();
  const place = level === undefined ? null : LEVELS.indexOf(level);
  return [worker, credential, HOLDING_STATUSES.indexOf(status), wanted, acked, place, text] as const;
}

/** The name of a worker as far as credentials go: what it was given, and what it holds. */
export interface NamedHoldings {
  readonly name: string;
  readonly tags: readonly string[];
  readonly holdings: ReadonlyMap<string, Holding>;
}

/** What is asked of a worker; undefined: it is not chosen, or there is no value. */
export function termsFor(
  record: CredentialRecord | undefined,
  name: string,
  tags: readonly string[],
): HoldingTerms | undefined {
  if (record?.present !== true || !isChosen(record, name, tags)) return undefined;
  return { version: record.version, level: record.level };
}

/** What changes at a worker when these credentials, or its tags, have changed. */
export function changesOf(
  { name, tags, holdings }: NamedHoldings,
  records: readonly CredentialRecord[],
): readonly HoldingChange[] {
  return records.flatMap((record) => {
    const before = holdings.get(record.name);
    const holding = afterTerms(before, termsFor(record, name, tags));
    return holding === before || isSame(holding, before) ? [] : [{ worker: name, credential: record.name, holding }];
  });
}

/** What changes at a worker that has come. */
export function reportChanges(
  { name, tags, holdings }: NamedHoldings,
  records: readonly CredentialRecord[],
  said: VaultSaid | undefined,
): readonly HoldingChange[] {
  const known = new Map(records.map((record) => [record.name, record]));
  const after = afterReport(holdings, (credential) => termsFor(known.get(credential), name, tags), said);
  return [...after].flatMap(([credential, holding]) =>
    isSame(holding, holdings.get(credential)) ? [] : [{ worker: name, credential, holding }],
  );
}

/** What a worker of ours holds and nobody knows of. What an agent tells is kept as its word. */
export function straysOf({ holdings }: NamedHoldings, said: VaultSaid | undefined): readonly string[] {
  return said === undefined || said.tells ? [] : [...said.holds.keys()].filter((name) => !holdings.has(name));
}

/** The labels that the workers of a name carry. */
export function labelsOf(holdings: Iterable<HoldingRecord>, countsOwn: boolean): readonly string[] {
  return [...holdings].filter((one) => isHeld(one, countsOwn)).map(({ credential }) => `${CREDENTIAL}${credential}`);
}

function isSame(a: Holding | undefined, b: Holding | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const same = a.status === b.status && a.wanted === b.wanted && a.acked === b.acked;
  return same && a.level === b.level && a.error === b.error;
}
