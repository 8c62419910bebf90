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
import { numbers, texts } from '../../arrays.ts';
import { lockChannels } from '../../connect/channel-locks.ts';
import type { Session } from '../../connect/database.ts';
import { findSetting, listSettings, setWorker } from '../queue/worker-setting.ts';

/**
 * Whoever changes credentials, holdings or the tags of a name takes this lock first: what is chosen follows from all of these together. A
 * worker that registers does not, and reads its holdings so that it waits for a change of them (`holdingsTake`).
 */
export function lockCredentials(session: Session): Promise<void> {
  return lockChannels(session, ['credentials']);
}

export async function getCredential(session: Session, name: string): Promise<CredentialRecord | undefined> {
  const [row] = await session.all<CredentialRow>('credentialGet', [name]);
  return row && credentialOf(row);
}

export async function listCredentials(session: Session): Promise<readonly CredentialRecord[]> {
  return (await session.all<CredentialRow>('credentialList', [])).map(credentialOf);
}

export async function putCredential(session: Session, change: CredentialPut): Promise<CredentialRecord> {
  await lockCredentials(session);
  const { name, value } = change;
  const before = await getCredential(session, name);
  if (before?.present !== true && value === undefined) throw fault('NOT_FOUND', { kind: 'credential', id: name });
  const version = (before?.version ?? 0) + (value === undefined ? 0 : 1);
  if (value !== undefined && value.version !== version) throw changedMeanwhile(name);
  const choice = changedChoice(before ?? NOBODY, change);
  const level = change.level === undefined ? before?.level : (change.level ?? undefined);
  const { kind, type } = value ?? (before as CredentialRecord);
  const lists = [JSON.stringify(choice.workers), JSON.stringify(choice.tags)];
  const values = [name, version, version, value?.sealed ?? null, kindCode(kind), type ?? null, ...lists];
  const [row] = await session.all<CredentialRow>('credentialPut', [...values, demandCode(level)]);
  const after = credentialOf(row as CredentialRow);
  await settle(session, after);
  return after;
}

function changedMeanwhile(name: string): Error {
  return fault('CONFLICT', { problem: `the credential ${name} was changed meanwhile` }, { hint: 'Say it again.' });
}

export async function removeCredential(session: Session, name: string): Promise<boolean> {
  await lockCredentials(session);
  const [row] = await session.all<CredentialRow>('credentialDrop', [name]);
  if (row === undefined) return false;
  await settle(session, credentialOf(row));
  return true;
}

export async function listValues(
  session: Session,
  names: readonly string[] | undefined,
): Promise<readonly SealedCredential[]> {
  const rows =
    names === undefined
      ? await session.all<SealedRow>('credentialValues', [])
      : await session.all<SealedRow>('credentialValuesOf', [texts(names)]);
  return rows.map(({ name, version, value_version: valueVersion, sealed }) => {
    return { name, version, valueVersion, sealed };
  });
}

interface SealedRow {
  readonly name: string;
  readonly version: number;
  readonly value_version: number;
  readonly sealed: string;
}

export async function listHoldings(
  session: Session,
  { worker, credentials }: HoldingQuery,
): Promise<readonly HoldingRecord[]> {
  if (worker !== undefined) {
    const own = (await session.all<HoldingRow>('holdingsAt', [worker])).map(holdingOf);
    return credentials === undefined ? own : own.filter(({ credential }) => credentials.includes(credential));
  }
  const rows =
    credentials === undefined
      ? await session.all<HoldingRow>('holdingList', [])
      : await session.all<HoldingRow>('holdingsOf', [texts(credentials)]);
  return rows.map(holdingOf);
}

export async function reportVault(
  session: Session,
  worker: string,
  said: VaultSaid | undefined,
): Promise<readonly string[]> {
  await lockCredentials(session);
  const named = await namedHoldings(session, worker);
  await write(session, reportChanges(named, await listCredentials(session), said));
  return straysOf(named, said);
}

export async function ackCredential(
  session: Session,
  worker: string,
  credential: string,
  ack: HoldingAck,
): Promise<boolean> {
  await lockCredentials(session);
  const { tags, holdings } = await namedHoldings(session, worker);
  const before = holdings.get(credential);
  if (before === undefined) return false;
  const after = afterAck(before, ack, termsFor(await getCredential(session, credential), worker, tags));
  if (after === undefined) return false;
  await write(session, [{ worker, credential, holding: after }]);
  return true;
}

export async function listPending(session: Session, workers: readonly string[]): Promise<readonly PendingCredential[]> {
  return (await session.all<PendingRow>('holdingsPending', [texts(workers)])).map(pendingOf);
}

export async function signerOf(
  session: Session,
  { signer, instead }: { readonly signer?: SealedSigner; readonly instead?: string },
): Promise<SealedSigner | undefined> {
  if (signer !== undefined && instead !== undefined) {
    await session.rows('signerReplace', [signer.public, signer.sealed, instead]);
  } else if (signer !== undefined) await session.rows('signerPut', [signer.public, signer.sealed]);
  const [row] = await session.all<SealedSigner>('signerGet', []);
  return row && { public: row.public, sealed: row.sealed };
}

export async function reseal(session: Session, { fingerprint, values, signer }: Reseal): Promise<void> {
  await lockCredentials(session);
  await session.rows('credentialReseal', [
    texts(values.map(({ name }) => name)),
    numbers(values.map(({ valueVersion }) => valueVersion)),
    texts(values.map(({ sealed }) => sealed)),
  ]);
  if (signer !== undefined) await session.rows('signerDrop', []);
  if (signer !== undefined && signer !== null) await session.rows('signerPut', [signer.public, signer.sealed]);
  await session.rows('secretPin', [SECRET_PIN, fingerprint, true]);
}

/** Changes the setting of a name. By its tags it may be chosen for other credentials than before. */
export async function setNamed(session: Session, change: WorkerSetting): Promise<void> {
  await lockCredentials(session);
  await setWorker(session, change);
  const { name } = change;
  await write(session, changesOf(await namedHoldings(session, name), await listCredentials(session)), [name]);
}

/** The name was removed: nobody of that name is chosen any more, and a later one begins with nothing. Under the lock. */
export async function leaveCredentials(session: Session, name: string): Promise<void> {
  for (const { name: credential, workers } of await listCredentials(session)) {
    const others = workers.filter((one) => one !== name);
    if (others.length < workers.length) await session.rows('credentialLeave', [credential, JSON.stringify(others)]);
  }
  if ((await session.rows('holdingsDrop', [name])).length > 0) await relabel(session, [name]);
}

/** Whether a credential goes to all that were given this tag. */
export async function isChosenBy(session: Session, tag: string): Promise<boolean> {
  return (await listCredentials(session)).some(({ tags }) => tags.includes(tag));
}

/** A tag has another name. Whoever is chosen by it stays so: the settings of the workers follow in the same transaction. Under the lock. */
export async function retagCredentials(session: Session, from: string, to: string): Promise<void> {
  for (const { name, tags } of await listCredentials(session)) {
    const renamed = tags.map((tag) => (tag === from ? to : tag)).sort();
    if (tags.includes(from)) await session.rows('credentialRetag', [name, JSON.stringify(renamed)]);
  }
}

/** The labels that a worker of this name begins with. */
export async function heldLabels(session: Session, name: string, countsOwn: boolean): Promise<readonly string[]> {
  return labelsOf((await session.all<HoldingRow>('holdingsTake', [name])).map(holdingOf), countsOwn);
}

/** A credential has changed: all that are chosen, or were. */
async function settle(session: Session, record: CredentialRecord): Promise<void> {
  const settings = new Map((await listSettings(session)).map(({ name, tags }) => [name, tags]));
  const found = await listHoldings(session, { credentials: [record.name] });
  const held = new Map(found.map((one) => [one.worker, one]));
  const names = new Set([...settings.keys(), ...held.keys(), ...record.workers]);
  const changes = [...names].flatMap((name) => {
    const before = held.get(name);
    const holdings = new Map<string, Holding>(before === undefined ? [] : [[record.name, before]]);
    return changesOf({ name, tags: settings.get(name) ?? [], holdings }, [record]);
  });
  await write(session, changes);
}

async function namedHoldings(session: Session, name: string): Promise<NamedHoldings> {
  const { tags } = await findSetting(session, name);
  const found = await listHoldings(session, { worker: name });
  return { name, tags, holdings: new Map(found.map((one) => [one.credential, one])) };
}

async function write(session: Session, changes: readonly HoldingChange[], also: readonly string[] = []): Promise<void> {
  const going = changes.filter(({ holding }) => holding === undefined);
  const rows = changes.flatMap(({ worker, credential, holding }) =>
    holding === undefined ? [] : [holdingValues({ worker, credential, holding })],
  );
  if (going.length > 0) {
    const of = (pick: (one: HoldingChange) => string): string => texts(going.map(pick));
    await session.rows('holdingsGo', [of(({ worker }) => worker), of(({ credential }) => credential)]);
  }
  if (rows.length > 0) {
    await session.rows('holdingsPut', [
      texts(rows.map(([worker]) => worker)),
      texts(rows.map(([, credential]) => credential)),
      numbers(rows.map(([, , status]) => status)),
      numbers(rows.map(([, , , wanted]) => wanted)),
      numbers(rows.map(([, , , , acked]) => acked)),
      numbers(rows.map(([, , , , , level]) => level)),
      texts(rows.map(([, , , , , , error]) => error)),
    ]);
  }
  await relabel(session, [...new Set([...also, ...changes.map(({ worker }) => worker)])]);
}

/** In the write that changed a holding, so that a claim by the labels of before is refused from then on. */
async function relabel(session: Session, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const living = await session.all<{ id: number; name: string; own_tags: string | null }>('workersOfNames', [
    texts(names),
  ]);
  const given = new Map<string, readonly string[]>();
  for (const name of new Set(living.map((one) => one.name))) {
    const { tags, grant } = await findSetting(session, name);
    const labels = labelsOf(await listHoldings(session, { worker: name }), grant.ownCredentials === true);
    given.set(name, [...tags, ...labels]);
  }
  const all = living.map(({ name, own_tags: own }) =>
    JSON.stringify(allTags(own === null ? [] : (JSON.parse(own) as string[]), given.get(name) ?? [])),
  );
  await session.rows('workersTags', [numbers(living.map(({ id }) => id)), texts(all)]);
}
