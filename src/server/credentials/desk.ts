import { type KnownLevel, refusalOf } from '../../core/credential/level.ts';
import type { CredentialValue } from '../../core/credential/value.ts';
import { isEngineError } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Log } from '../../engine/log.ts';
import type { CredentialSafe } from '../../operate/credentials/safe.ts';
import { type Signer, signerOf } from '../../operate/credentials/signer.ts';
import type {
  CredentialAck,
  CredentialFeed,
  CredentialOrder,
  VaultReport,
} from '../../protocol/credential-envelope.ts';
import { sealEnvelope } from './sealer.ts';

export interface DeskOptions {
  readonly engine: Pick<Engine, 'credentials' | 'store'>;
  readonly safe: CredentialSafe;
  readonly world: Pick<World, 'clock' | 'timers'>;
  readonly log: Log;
}

/** Whoever comes to the desk. Its name was authenticated. */
export interface DeskClient {
  readonly name: string;
  /** Undefined: it has no place for credentials. */
  readonly vault: VaultReport | undefined;
  /** Others may read what it is sent. */
  readonly exposed: boolean;
  /** It is told without being asked; default true. A worker over HTTP asks by its heartbeats. */
  readonly connected?: boolean;
}

/** An agent, which is sent plain values, and says by name what it has. */
export interface AgentClient {
  readonly name: string;
  readonly holds: readonly string[];
  readonly exposed: boolean;
}

type SendPlain = (name: string, value: CredentialValue) => void;

/** Less than a second, so that together with the read it is one. */
const LOOK_MS = 500;
/** An order without an answer is given again after this long. */
const AGAIN_MS = 15_000;
const EXPOSED = 'its link is neither TLS nor on the host of the node, so that nothing was sent';
const NOT_TOLD = 'agents of its kind know no message for that: give the secret another value where it counts';

/** The credentials of those who speak to this node. One read twice a second finds what other nodes have changed. */
export class CredentialDesk {
  readonly #options: DeskOptions;
  readonly #clients = new Set<Client>();
  #signer: Promise<Signer> | undefined;
  #stopLooking: (() => void) | undefined;
  #looking: Promise<void> | undefined;
  #again = false;

  constructor(options: DeskOptions) {
    this.#options = options;
    options.engine.credentials.onChange(() => void this.#look());
  }

  /** What the desk has for a worker, which has said what it holds. It is told until it leaves. */
  async open(client: DeskClient): Promise<DeskSession | undefined> {
    const { name, vault, exposed, connected = true } = client;
    if (vault === undefined) {
      await this.#reportNone(name);
      return undefined;
    }
    const signer = await this.#signerOf();
    const session = new DeskSession(this, name, signer, exposed, vault);
    await session.said(vault);
    if (connected) this.enter(session);
    return session;
  }

  async openAgent(client: AgentClient): Promise<AgentSession> {
    const session = new AgentSession(this, client);
    await session.said(client.holds);
    return session;
  }

  /** It is told from now on. */
  enter(client: Client): void {
    this.#clients.add(client);
    this.#lookLater();
    void this.#look();
  }

  leave(client: Client): void {
    this.#clients.delete(client);
    if (this.#clients.size > 0) return;
    this.#stopLooking?.();
    this.#stopLooking = undefined;
  }

  /** Sends one client what stands open for it. */
  async serve(client: Client): Promise<void> {
    await this.#serve([client]);
  }

  get engine(): DeskOptions['engine'] {
    return this.#options.engine;
  }

  get now(): number {
    return this.#options.world.clock.monotonic();
  }

  /** For a worker that has no place for credentials most have no row: nothing is written then. */
  async #reportNone(name: string): Promise<void> {
    const { credentials } = this.#options.engine;
    const held = await credentials.holdings({ worker: name });
    if (held.some(({ status }) => status !== 'removed')) await credentials.report({ worker: name, said: undefined });
  }

  #signerOf(): Promise<Signer> {
    const { engine, safe } = this.#options;
    this.#signer ??= signerOf(engine.store, safe);
    this.#signer.catch(() => (this.#signer = undefined));
    return this.#signer;
  }

  #lookLater(): void {
    this.#stopLooking ??= this.#options.world.timers.after(
      LOOK_MS,
      () => {
        this.#stopLooking = undefined;
        if (this.#clients.size > 0) this.#lookLater();
        void this.#look();
      },
      { unref: true },
    );
  }

  /** A look under way may have begun before the change of its caller, so another one follows. */
  #look(): Promise<void> {
    if (this.#clients.size === 0) return Promise.resolve();
    if (this.#looking !== undefined) {
      this.#again = true;
      return this.#looking;
    }
    this.#looking = this.#serve([...this.#clients]).finally(() => {
      this.#looking = undefined;
      if (!this.#again) return;
      this.#again = false;
      void this.#look();
    });
    return this.#looking;
  }

  /** Never rejects: a store that does not answer is asked again. */
  async #serve(clients: readonly Client[]): Promise<void> {
    try {
      const pending = await this.engine.credentials.pending([...new Set(clients.map(({ name }) => name))].sort());
      if (pending.length === 0) return;
      const byName = Map.groupBy(pending, ({ worker }) => worker);
      for (const client of clients) {
        for (const one of byName.get(client.name) ?? []) await this.#give(client, one);
      }
    } catch (error) {
      if (!isEngineError(error, 'STORE_CLOSED'))
        this.#options.log.warn('credentials could not be looked after', { error: sayWhy(error) });
    }
  }

  async #give(client: Client, one: Pending): Promise<void> {
    const { credential, version, level } = one;
    if (!client.isDue(`${level === undefined ? 'remove' : 'push'} ${version}`, credential)) return;
    if (level === undefined) return client.remove(credential, version);
    const refusal = client.exposed ? EXPOSED : refusalOf(client.level, level.demanded);
    if (refusal !== undefined) return client.refuse(credential, version, refusal);
    const value = await this.#open(credential, version);
    if (value === 'gone') return;
    if (value === undefined) {
      return client.refuse(
        credential,
        version,
        'its value cannot be opened with the secret of this cluster; set it again',
      );
    }
    client.push(credential, version, value);
  }

  /** `gone`: it was changed meanwhile, and another look follows. Undefined: it was sealed under another secret. */
  async #open(name: string, version: number): Promise<CredentialValue | 'gone' | undefined> {
    const [found] = await this.engine.credentials.values([name]);
    if (found?.version !== version) return 'gone';
    try {
      return this.#options.safe.open(name, found.valueVersion, found.sealed);
    } catch (error) {
      if (!isEngineError(error, 'CREDENTIAL_LOCKED')) throw error;
      this.#options.log.error('a credential cannot be opened', { credential: name });
      return undefined;
    }
  }
}

type Pending = Awaited<ReturnType<Engine['credentials']['pending']>>[number];

/** Its message may quote what it was about: only codes are told. */
function sayWhy(error: unknown): string {
  return isEngineError(error) ? error.code : ((error as NodeJS.ErrnoException).code ?? 'INTERNAL');
}

/** One who speaks to the node. */
abstract class Client {
  readonly name: string;
  readonly exposed: boolean;
  protected readonly desk: CredentialDesk;
  readonly #sent = new Map<string, { readonly order: string; readonly at: number }>();

  constructor(desk: CredentialDesk, name: string, exposed: boolean) {
    this.desk = desk;
    this.name = name;
    this.exposed = exposed;
  }

  abstract get level(): KnownLevel;
  abstract push(credential: string, version: number, value: CredentialValue): void;
  abstract remove(credential: string, version: number): Promise<void> | void;

  /** Whether an order is given now: it is another one than the last, or that had no answer for long. */
  isDue(order: string, credential: string): boolean {
    const last = this.#sent.get(credential);
    const { now } = this.desk;
    if (last?.order === order && now - last.at < AGAIN_MS) return false;
    this.#sent.set(credential, { order, at: now });
    return true;
  }

  /** The node answers in place of the worker, which was sent nothing. */
  async refuse(credential: string, version: number, error: string): Promise<void> {
    const level = this.level;
    await this.desk.engine.credentials.ack({ worker: this.name, credential, version, status: 'failed', level, error });
  }

  leave(): void {
    this.desk.leave(this);
  }

  protected forgetSent(): void {
    this.#sent.clear();
  }
}

/** Orders that nobody has fetched yet. What was not fetched is given again. */
const MOST_WAITING = 2000;

/** A worker of ours: it is sent envelopes. */
export class DeskSession extends Client implements CredentialFeed {
  readonly #signer: Signer;
  #vault: VaultReport;
  #listener: ((order: CredentialOrder) => void) | undefined;
  #waiting: CredentialOrder[] = [];
  #last = '';

  constructor(desk: CredentialDesk, name: string, signer: Signer, exposed: boolean, vault: VaultReport) {
    super(desk, name, exposed);
    this.#signer = signer;
    this.#vault = vault;
  }

  get signer(): string {
    return this.#signer.publicKey;
  }

  get level(): KnownLevel {
    return this.#vault.level;
  }

  /** What it says of its vault. The same again is no news. */
  async said({ key, level, holds }: VaultReport): Promise<void> {
    const text = JSON.stringify([key, level, holds]);
    if (text === this.#last) return;
    this.#vault = { key, level, holds: [...holds] };
    const map = new Map(holds.map(({ name, version }) => [name, version]));
    const said = { level, holds: map, tells: false };
    const strays = await this.desk.engine.credentials.report({ worker: this.name, said });
    this.#last = text;
    this.forgetSent();
    for (const name of strays) this.remove(name, map.get(name) ?? 1);
  }

  subscribe(listener: (order: CredentialOrder) => void): () => void {
    this.#listener = listener;
    for (const order of this.#waiting.splice(0)) listener(order);
    return () => {
      this.#listener = undefined;
    };
  }

  /** Orders for one answer, where the worker has to fetch them. */
  async fetch(most: number): Promise<readonly CredentialOrder[]> {
    await this.desk.serve(this);
    return this.#waiting.splice(0, most);
  }

  async ack({ name, version, status, level, error }: CredentialAck): Promise<void> {
    const ack = { worker: this.name, credential: name, version, status, level, error };
    await this.desk.engine.credentials.ack(ack);
  }

  push(name: string, version: number, value: CredentialValue): void {
    const { key } = this.#vault;
    const envelope = sealEnvelope({ worker: this.name, key, name, version }, value, this.#signer);
    this.#tell({ name, version, envelope });
  }

  remove(name: string, version: number): void {
    this.#tell({ name, version, removed: true });
  }

  #tell(order: CredentialOrder): void {
    if (this.#listener !== undefined) this.#listener(order);
    else if (this.#waiting.length < MOST_WAITING) this.#waiting.push(order);
  }
}

/** An agent: it is sent plain values, and answers by name. */
export class AgentSession extends Client {
  readonly level = 'unknown';
  #send: SendPlain = () => {};
  /** What it was sent last, by name: its answer names no version. */
  readonly #versions = new Map<string, number>();

  constructor(desk: CredentialDesk, { name, exposed }: AgentClient) {
    super(desk, name, exposed);
  }

  /** It has been greeted, and is sent what it should have. */
  begin(send: SendPlain): void {
    this.#send = send;
    this.desk.enter(this);
  }

  /** What it says that it has. */
  async said(names: readonly string[]): Promise<void> {
    const holds = new Map(names.filter((name) => NAME.test(name)).map((name) => [name, undefined]));
    await this.desk.engine.credentials.report({ worker: this.name, said: { level: 'unknown', holds, tells: true } });
    this.forgetSent();
  }

  push(credential: string, version: number, value: CredentialValue): void {
    this.#versions.set(credential, version);
    this.#send(credential, value);
  }

  async remove(credential: string, version: number): Promise<void> {
    await this.refuse(credential, version, NOT_TOLD);
  }

  async ack(credential: string, status: 'stored' | 'failed', error: string | undefined): Promise<void> {
    const version = this.#versions.get(credential);
    if (version === undefined) return;
    await this.desk.engine.credentials.ack({ worker: this.name, credential, version, status, level: 'unknown', error });
  }
}

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
