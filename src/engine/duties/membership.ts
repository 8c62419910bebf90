import { fault } from '../../core/errors.ts';
import {
  DEFAULT_SILENCE,
  givesWay,
  holderName,
  mayLead,
  type NodeEvent,
  type NodeOverride,
  type NodeRole,
  type NodeStatus,
  nextStatus,
} from '../../core/node.ts';
import type { World } from '../../core/world.ts';
import type { NodeBeat, NodeDoing, NodeRecord, NodeSnapshot, Store } from '../../store/store.ts';
import type { Log } from '../log.ts';
import { unfailing } from '../unfailing-log.ts';
import { Election, type ElectionOptions } from './election.ts';
import { LEADER, leaderOf } from './leader.ts';

/** What a node reports of itself. */
export type NodeSelf = Pick<NodeBeat, 'id' | 'incarnation' | 'address' | 'version' | 'host' | 'pid'>;

export interface MembershipOptions extends Pick<ElectionOptions, 'leaseMs' | 'renewMs' | 'roster'> {
  readonly store: Pick<
    Store,
    'nodeBeat' | 'nodeList' | 'nodeLeave' | 'dutyTake' | 'dutyRenew' | 'dutyRelease' | 'dutyList'
  >;
  readonly world: World;
  readonly log: Log;
  readonly self: NodeSelf;
  /** The role that it was started with. */
  readonly role: NodeRole;
  /** How often it sends a heartbeat. */
  readonly beatMs: number;
  /** A node that was asked to lead and is silent for longer is not waited for. */
  readonly staleMs?: number | undefined;
  /** Whether the process of a node has certainly ended. A wrong answer costs a leader its term, and nothing else. */
  readonly isGone?: (node: NodeRecord) => boolean;
}

/** How often a node reads the role that it is asked to have. */
const LOOK_MS = 1000;

/**
 * This process as a node of its store: it registers, sends heartbeats, stands for election as its role says, and follows changes of its
 * role. `core/node.ts` has the states.
 *
 * A newer process with the same id takes over the row. This one then leads no more and reports it, until the other one is gone.
 */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #log: Log;
  readonly #election: Election;
  #role: NodeRole;
  #status: NodeStatus = 'boot';
  #beatAt = 0;
  #looking: Promise<void> | undefined;
  #replaced = false;
  #resigned = false;
  #left = false;
  #warned = false;
  /** Another node was asked to lead, and is there: this one does not stand for election. */
  #yields = false;
  #cancel = (): void => {};
  readonly #listeners = new Set<(doing: NodeDoing) => void>();
  #reported: NodeDoing = 'worker';

  constructor(options: MembershipOptions) {
    const { store, world, log, self, leaseMs, renewMs, roster } = options;
    this.#options = options;
    this.#log = unfailing(log);
    this.#role = options.role;
    const holder = `${self.id}/${self.incarnation}`;
    const onEvent = (event: NodeEvent): void => this.#handle(event);
    this.#election = new Election({ store, world, log, holder, leaseMs, renewMs, roster, onEvent });
  }

  get id(): string {
    return this.#options.self.id;
  }

  get incarnation(): string {
    return this.#options.self.incarnation;
  }

  /** Between elections a node serves as a worker. */
  get doing(): NodeDoing {
    if (this.#status === 'observer') return 'observer';
    return this.#status === 'leader' && this.#election.leads ? 'leader' : 'worker';
  }

  get leads(): boolean {
    return this.#election.leads;
  }

  /** The epoch of its term, while it leads. */
  get epoch(): number | undefined {
    return this.#election.epoch;
  }

  /** Calls back when this node changes what it does. */
  onChange(listener: (doing: NodeDoing) => void): void {
    this.#listeners.add(listener);
  }

  /** Registers, and holds the first election. Rejects where its role is `leader` and another node leads. */
  async start(): Promise<void> {
    const { store, self } = this.#options;
    this.#status = nextStatus('boot', 'asked', this.#role);
    const answer = await store.nodeBeat(this.#beatOf(true));
    this.#beatAt = this.#now() + this.#options.beatMs;
    this.#role = this.#effective(answer.ok ? answer.override : 'auto');
    this.#status = nextStatus(this.#status, 'asked', this.#role);
    this.#reported = this.doing;
    this.#yields = this.#mustYield(await store.nodeList());
    if (mayLead(this.#role)) {
      await this.#clearDeadLeader(answer.ok ? answer.replaced : undefined);
      const won = !this.#yields && (await this.#election.stand());
      // A node that was only asked to lead starts all the same, and leads as soon as the other one has given way.
      if (!won && this.#options.role === 'leader' && !(answer.ok && answer.override === 'leader')) {
        const conflict = await this.#leaderConflict();
        await this.#election.resign();
        await store.nodeLeave(self);
        throw conflict;
      }
    }
    // Writes what it does by now.
    await this.look();
    this.#plan();
  }

  /** Leads no more and gives its duties back; the rest goes on. */
  async resign(): Promise<void> {
    this.#resigned = true;
    await this.#election.resign();
  }

  /** Ends its membership. */
  async leave(): Promise<void> {
    this.#left = true;
    this.#cancel();
    await this.resign();
    await this.#looking;
    const { store, self } = this.#options;
    await store.nodeLeave(self).catch((error: unknown) => {
      this.#log.warn('this node could not deregister', { error: String(error) });
    });
  }

  /** Reads the role that this node is asked to have, and sends a heartbeat if one is due. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    const snapshot = await this.#options.store.nodeList();
    const { nodes } = snapshot;
    this.#applyYield(this.#mustYield(snapshot));
    const { id, incarnation } = this.#options.self;
    const row = nodes.find((node) => node.id === id);
    const isOwn = row?.incarnation === incarnation;
    const changed = isOwn && row.stand !== this.doing;
    if (row === undefined || changed || this.#now() >= this.#beatAt) await this.#beat();
    else if (isOwn) this.#applyOverride(row.override);
  }

  async #beat(): Promise<void> {
    const answer = await this.#options.store.nodeBeat(this.#beatOf(false));
    this.#beatAt = this.#now() + this.#options.beatMs;
    if (!answer.ok) return this.#stepBack(answer);
    if (this.#replaced) this.#log.info('this node has its id back', { id: this.id });
    this.#applyOverride(answer.override, this.#replaced);
    this.#replaced = false;
  }

  #beatOf(first: boolean): NodeBeat {
    return { ...this.#options.self, first, wish: this.#options.role, stand: this.doing };
  }

  #stepBack({
    host = 'unknown',
    pid,
  }: {
    readonly host?: string | undefined;
    readonly pid?: number | undefined;
  }): void {
    const fields = { id: this.id, host, ...(pid === undefined ? {} : { pid }) };
    this.#log.error('the same node id on two processes: a newer one has it, and this one leads no more', fields);
    this.#replaced = true;
    void this.#election.resign();
  }

  #effective(override: NodeOverride): NodeRole {
    return override === 'auto' ? this.#options.role : override;
  }

  #applyOverride(override: NodeOverride, again = false): void {
    const role = this.#effective(override);
    if (role === this.#role && !again) return;
    this.#role = role;
    this.#log.info('the role of this node was changed', { role });
    this.#handle('asked');
    if (!mayLead(role)) void this.#election.resign();
    else if (!this.#resigned && !this.#yields) void this.#election.stand();
  }

  #mustYield({ now, nodes }: NodeSnapshot): boolean {
    const others = nodes.map(({ id, override, left, beatAt }) => ({ id, override, left, silentMs: now - beatAt }));
    return givesWay(this.id, others, { staleMs: this.#options.staleMs ?? DEFAULT_SILENCE.staleMs });
  }

  /** Gives its duties and leadership back, so that the other node finds both free. */
  #applyYield(yields: boolean): void {
    if (yields === this.#yields) return;
    this.#yields = yields;
    if (!mayLead(this.#role) || this.#resigned) return;
    if (yields && this.leads) this.#log.info('another node was asked to lead, and this one gives way', { id: this.id });
    if (yields) void this.#election.resign();
    else void this.#election.stand();
  }

  #handle(event: NodeEvent): void {
    this.#status = nextStatus(this.#status, event, this.#role);
    const { doing } = this;
    if (doing === this.#reported) return;
    this.#reported = doing;
    // So that its row shows it at once. A write that fails now is repeated at the next look.
    if (!this.#left) void this.look().catch(() => undefined);
    for (const listener of this.#listeners) listener(doing);
  }

  /**
   * The former leader may be this very node, or may have died on this host: then nobody need wait until its term expires. Only leadership
   * is released. The duties of a crashed process expire by themselves, which tells their next holder that something may be wrong.
   */
  async #clearDeadLeader(replaced: string | undefined): Promise<void> {
    const { store, self, isGone = () => false } = this.#options;
    const { now, duties } = await store.dutyList();
    const leader = leaderOf(duties, now);
    if (leader === undefined) return;
    const { nodes } = await store.nodeList();
    const node = nodes.find(({ id, incarnation }) => leader.holder === `${id}/${incarnation}`);
    const before = replaced !== undefined && leader.holder === `${self.id}/${replaced}`;
    if (!before && (node === undefined || !isGone(node))) return;
    this.#log.info('the former leader is gone', { node: holderName(leader.holder), epoch: leader.epoch });
    await store.dutyRelease({ duty: { name: LEADER, epoch: leader.epoch } });
  }

  async #leaderConflict(): Promise<Error> {
    const { store } = this.#options;
    const [{ now, duties }, { nodes }] = await Promise.all([store.dutyList(), store.nodeList()]);
    const leader = leaderOf(duties, now);
    const id = leader === undefined ? 'another node' : holderName(leader.holder);
    const address = nodes.find((node) => node.id === id)?.address;
    return fault(
      'CONFLICT',
      { problem: `${id}${address === undefined ? '' : ` at ${address}`} leads this cluster already` },
      {
        hint: 'Start this node with --role auto, so that it leads when the other one is gone; or stop that one first.',
      },
    );
  }

  #plan(): void {
    if (this.#left) return;
    const next = (): void => {
      void this.look()
        .then(
          () => {
            this.#warned = false;
          },
          (error: unknown) => {
            if (!this.#warned) this.#log.warn('this node could not send its heartbeat', { error: String(error) });
            this.#warned = true;
          },
        )
        .then(() => this.#plan());
    };
    this.#cancel = this.#options.world.timers.after(LOOK_MS, next, { unref: true });
  }

  #now(): number {
    return this.#options.world.clock.monotonic();
  }
}
