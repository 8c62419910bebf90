import { changedChoice, NOBODY } from '../../../../core/credential/choice.ts';
import { afterAck, type Holding, type HoldingAck, type VaultSaid } from '../../../../core/credential/holding.ts';
import { fault } from '../../../../core/errors.ts';
import {
  type CredentialRow,
  changesOf,
  credentialOf,
  demandCode,
  type HoldingChange,
  type HoldingRow,
  holdingOf,
  holdingValues,
  kindCode,
  labelsOf,
  type NamedHoldings,
  type PendingRow,
  pendingOf,
  reportChanges,
  straysOf,
  termsFor,
} from '../../../rows/credential-rows.ts';
import { SECRET_PIN } from '../../../rows/node-rows.ts';
import type {
  CredentialPut,
  CredentialRecord,
  HoldingQuery,
  HoldingRecord,
  PendingCredential,
  Reseal,
  SealedCredential,
  SealedSigner,
  WorkerSetting,
} from '../../../store.ts';
import { allTags } from '../../../worker-settings.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { findSetting, listSettings, setWorker } from '../queue/worker-setting.ts';

export function getCredential(sql: Prepared, name: string): CredentialRecord | undefined {
  const row = sql.get('credentialGet').get(name) as CredentialRow | undefined;
  return row && credentialOf(row);
}

export function listCredentials(sql: Prepared): readonly CredentialRecord[] {
  return (sql.get('credentialList').all() as unknown as CredentialRow[]).map(credentialOf);
}

export function putCredential(tx: Transaction, change: CredentialPut): CredentialRecord {
  const { name, value } = change;
  const before = getCredential(tx.sql, name);
  if (before?.present !== true && value === undefined) throw fault('NOT_FOUND', { kind: 'credential', id: name });
  const version = (before?.version ?? 0) + (value === undefined ? 0 : 1);
  if (value !== undefined && value.version !== version) throw changedMeanwhile(name);
  const choice = changedChoice(before ?? NOBODY, change);
  const level = change.level === undefined ? before?.level : (change.level ?? undefined);
  const { kind, type } = value ?? (before as CredentialRecord);
  tx.sql
    .get('credentialPut')
    .run(
      name,
      version,
      version,
      value?.sealed ?? null,
      kindCode(kind),
      type ?? null,
      JSON.stringify(choice.workers),
      JSON.stringify(choice.tags),
      demandCode(level),
      tx.now,
    );
  const after = getCredential(tx.sql, name) as CredentialRecord;
  settle(tx, after);
  return after;
}

function changedMeanwhile(name: string): Error {
  return fault('CONFLICT', { problem: `the credential ${name} was changed meanwhile` }, { hint: 'Say it again.' });
}

export function removeCredential(tx: Transaction, name: string): boolean {
  if (tx.sql.get('credentialDrop').run(tx.now, name).changes === 0) return false;
  settle(tx, getCredential(tx.sql, name) as CredentialRecord);
  return true;
}

export function listValues(sql: Prepared, names: readonly string[] | undefined): readonly SealedCredential[] {
  const rows =
    names === undefined ? sql.get('credentialValues').all() : sql.get('credentialValuesOf').all(JSON.stringify(names));
  return (rows as unknown as SealedRow[]).map(({ name, version, value_version: valueVersion, sealed }) => {
    return { name, version, valueVersion, sealed };
  });
}

interface SealedRow {
  readonly name: string;
  readonly version: number;
  readonly value_version: number;
  readonly sealed: string;
}

export function listHoldings(sql: Prepared, { worker, credentials }: HoldingQuery): readonly HoldingRecord[] {
  const rows =
    worker === undefined
      ? credentials === undefined
        ? sql.get('holdingList').all()
        : sql.get('holdingsOf').all(JSON.stringify(credentials))
      : sql.get('holdingsAt').all(worker);
  const found = (rows as unknown as HoldingRow[]).map(holdingOf);
  return worker === undefined || credentials === undefined
    ? found
    : found.filter(({ credential }) => credentials.includes(credential));
}

export function reportVault(tx: Transaction, worker: string, said: VaultSaid | undefined): readonly string[] {
  const named = namedHoldings(tx.sql, worker);
  write(tx, reportChanges(named, listCredentials(tx.sql), said));
  return straysOf(named, said);
}

export function ackCredential(tx: Transaction, worker: string, credential: string, ack: HoldingAck): boolean {
  const { tags, holdings } = namedHoldings(tx.sql, worker);
  const before = holdings.get(credential);
  const after = before && afterAck(before, ack, termsFor(getCredential(tx.sql, credential), worker, tags));
  if (after === undefined) return false;
  write(tx, [{ worker, credential, holding: after }]);
  return true;
}

export function listPending(sql: Prepared, workers: readonly string[]): readonly PendingCredential[] {
  return (sql.get('holdingsPending').all(JSON.stringify(workers)) as unknown as PendingRow[]).map(pendingOf);
}

export function signerOf(
  { sql }: Transaction,
  { signer, instead }: { readonly signer?: SealedSigner; readonly instead?: string },
): SealedSigner | undefined {
  if (signer !== undefined && instead !== undefined) {
    sql.get('signerReplace').run(signer.public, signer.sealed, instead);
  } else if (signer !== undefined) sql.get('signerPut').run(signer.public, signer.sealed);
  return findSigner(sql);
}

export function findSigner(sql: Prepared): SealedSigner | undefined {
  const row = sql.get('signerGet').get() as SealedSigner | undefined;
  return row && { public: row.public, sealed: row.sealed };
}

export function reseal(tx: Transaction, { fingerprint, values, signer }: Reseal): void {
  for (const { name, valueVersion, sealed } of values) tx.sql.get('credentialReseal').run(sealed, name, valueVersion);
  if (signer !== undefined) tx.sql.get('signerDrop').run();
  if (signer !== undefined && signer !== null) tx.sql.get('signerPut').run(signer.public, signer.sealed);
  tx.sql.get('secretPin').run(SECRET_PIN, fingerprint, tx.now, 1);
}

/** Changes the setting of a name. By its tags it may be chosen for other credentials than before. */
export function setNamed(tx: Transaction, change: WorkerSetting): void {
  setWorker(tx, change);
  const { name } = change;
  write(tx, changesOf(namedHoldings(tx.sql, name), listCredentials(tx.sql)), [name]);
}

/** The name was removed: nobody of that name is chosen any more, and a later one begins with nothing. */
export function leaveCredentials(tx: Transaction, name: string): void {
  for (const { name: credential, workers } of listCredentials(tx.sql)) {
    const others = workers.filter((one) => one !== name);
    if (others.length < workers.length) tx.sql.get('credentialLeave').run(JSON.stringify(others), tx.now, credential);
  }
  if (tx.sql.get('holdingsDrop').run(name).changes > 0) relabel(tx, name);
}

/** Whether a credential goes to all that were given this tag. */
export function isChosenBy(sql: Prepared, tag: string): boolean {
  return listCredentials(sql).some(({ tags }) => tags.includes(tag));
}

/** A tag has another name. Whoever is chosen by it stays so: the settings of the workers follow in the same transaction. */
export function retagCredentials(tx: Transaction, from: string, to: string): void {
  for (const { name, tags } of listCredentials(tx.sql)) {
    const renamed = tags.map((tag) => (tag === from ? to : tag)).sort();
    if (tags.includes(from)) tx.sql.get('credentialRetag').run(JSON.stringify(renamed), tx.now, name);
  }
}

/** The labels that a worker of this name begins with. */
export function heldLabels(sql: Prepared, name: string): readonly string[] {
  const { grant } = findSetting(sql, name);
  return labelsOf(listHoldings(sql, { worker: name }), grant.ownCredentials === true);
}

/** A credential has changed: all that are chosen, or were. */
function settle(tx: Transaction, record: CredentialRecord): void {
  const settings = new Map(listSettings(tx.sql).map(({ name, tags }) => [name, tags]));
  const held = new Map(listHoldings(tx.sql, { credentials: [record.name] }).map((one) => [one.worker, one]));
  const names = new Set([...settings.keys(), ...held.keys(), ...record.workers]);
  const changes = [...names].flatMap((name) => {
    const before = held.get(name);
    const holdings = new Map<string, Holding>(before === undefined ? [] : [[record.name, before]]);
    return changesOf({ name, tags: settings.get(name) ?? [], holdings }, [record]);
  });
  write(tx, changes);
}

function namedHoldings(sql: Prepared, name: string): NamedHoldings {
  const { tags } = findSetting(sql, name);
  const holdings = new Map(listHoldings(sql, { worker: name }).map((one) => [one.credential, one]));
  return { name, tags, holdings };
}

function write(tx: Transaction, changes: readonly HoldingChange[], also: readonly string[] = []): void {
  for (const { worker, credential, holding } of changes) {
    if (holding === undefined) tx.sql.get('holdingDrop').run(worker, credential);
    else tx.sql.get('holdingPut').run(...holdingValues({ worker, credential, holding }), tx.now);
  }
  for (const name of new Set([...also, ...changes.map(({ worker }) => worker)])) relabel(tx, name);
}

/** In the write that changed a holding, so that a claim by the labels of before is refused from then on. */
function relabel({ sql }: Transaction, name: string): void {
  const { tags } = findSetting(sql, name);
  const labels = heldLabels(sql, name);
  const living = sql.get('workersNamed').all(name) as unknown as { id: number; own_tags: string | null }[];
  for (const { id, own_tags: own } of living) {
    const all = allTags(own === null ? [] : (JSON.parse(own) as string[]), tags, labels);
    sql.get('workerTags').run(JSON.stringify(all), id);
  }
}
