import { checkChoiceChange } from '../core/credential/choice.ts';
import { DEMANDED_LEVELS } from '../core/credential/level.ts';
import { fault } from '../core/errors.ts';
import { checkName } from '../core/names.ts';
import type {
  CredentialPut,
  CredentialRecord,
  HoldingQuery,
  HoldingRecord,
  PendingCredential,
  SealedCredential,
  Store,
} from '../store/store.ts';

export interface CredentialsDeps {
  readonly store: Pick<
    Store,
    | 'credentialPut'
    | 'credentialRemove'
    | 'credentialList'
    | 'credentialGet'
    | 'credentialValues'
    | 'credentialHoldings'
    | 'credentialReport'
    | 'credentialAck'
    | 'credentialPending'
  >;
  /** Labels of workers may have changed, so what claims know of them is out of date. */
  readonly onChange: () => void;
}

type Ack = Parameters<Store['credentialAck']>[0];
type Report = Parameters<Store['credentialReport']>[0];

const MOST_CREDENTIALS = 1000;
const MOST_TYPE = 200;

/** Named secrets, sealed: what there is, who should hold it, and who does. */
export class Credentials {
  readonly #deps: CredentialsDeps;
  readonly #listeners = new Set<() => void>();

  constructor(deps: CredentialsDeps) {
    this.#deps = deps;
  }

  /** Makes a credential, or changes one. */
  async put(change: CredentialPut): Promise<CredentialRecord> {
    const { value, level } = change;
    const name = checkName('credential', change.name);
    if (level !== undefined && level !== null && !DEMANDED_LEVELS.includes(level)) {
      throw fault('INVALID_INPUT', { field: 'level', problem: `it is one of ${DEMANDED_LEVELS.join(', ')}` });
    }
    const { type } = value ?? {};
    if (type !== undefined && (type.length > MOST_TYPE || /\p{Cc}/u.test(type))) {
      throw fault('INVALID_INPUT', { field: 'type', problem: `it is a text of at most ${MOST_TYPE} characters` });
    }
    if (value !== undefined) await this.#requireRoom(name);
    const put = await this.#deps.store.credentialPut({ ...checkChoiceChange(change), name, value, level });
    this.#changed();
    return put;
  }

  /** All that hold it are to remove it. */
  async remove(name: string): Promise<void> {
    if (!(await this.#deps.store.credentialRemove({ name: checkName('credential', name) }))) throw noCredential(name);
    this.#changed();
  }

  async get(name: string): Promise<CredentialRecord> {
    const record = await this.find(name);
    if (record?.present !== true) throw noCredential(name);
    return record;
  }

  /** Also one that was removed: its version says which comes next. */
  async find(name: string): Promise<CredentialRecord | undefined> {
    return this.#deps.store.credentialGet({ name: checkName('credential', name) });
  }

  list(): Promise<readonly CredentialRecord[]> {
    return this.#deps.store.credentialList();
  }

  holdings(query: HoldingQuery = {}): Promise<readonly HoldingRecord[]> {
    return this.#deps.store.credentialHoldings(query);
  }

  values(names: readonly string[]): Promise<readonly SealedCredential[]> {
    return this.#deps.store.credentialValues({ names });
  }

  pending(workers: readonly string[]): Promise<readonly PendingCredential[]> {
    return this.#deps.store.credentialPending({ workers });
  }

  /** What a worker says when it comes. Answers what it holds and nobody knows of. */
  async report(report: Report): Promise<readonly string[]> {
    const strays = await this.#deps.store.credentialReport(report);
    this.#deps.onChange();
    return strays;
  }

  /** What became of an order. False: it does not stand any more. */
  async ack(ack: Ack): Promise<boolean> {
    const counted = await this.#deps.store.credentialAck(ack);
    if (counted) this.#deps.onChange();
    return counted;
  }

  /** Calls back after each change that this process has made. Those of others are found by looking. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The choice of a worker may have changed by its tags. */
  hint(): void {
    for (const listener of this.#listeners) listener();
  }

  async #requireRoom(name: string): Promise<void> {
    const all = await this.list();
    if (all.length < MOST_CREDENTIALS || all.some((one) => one.name === name)) return;
    throw fault('INVALID_INPUT', { field: 'name', problem: `there are ${MOST_CREDENTIALS} credentials, and no more` });
  }

  #changed(): void {
    this.#deps.onChange();
    this.hint();
  }
}

function noCredential(name: string): Error {
  const hint = '"leasehold credentials list" shows those that there are.';
  return fault('NOT_FOUND', { kind: 'credential', id: name }, { hint });
}
