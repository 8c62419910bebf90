/**
 * The kill farm: six worker processes on one store, killed, frozen and drained at random while clients push and cancel.
 *
 *   node test/chaos/farm/farm.ts --kills 5000 --tasks 200000 --seed 7 [--store postgres] [--duties workers] [--lease 600]
 *
 * The seed fixes what is pushed and who is struck how; when exactly is up to the machine.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Rng } from '../../sim/rng.ts';
import { type Child, Nursery } from '../children.ts';
import { faultsOf, type Ground, groundOf, type StoreName } from '../ground.ts';
import { SlotWatch } from '../slot-watch.ts';
import { processesMarked } from '../survivors.ts';
import { check, type Verdict } from './farm-checker.ts';
import type { Final, QueueCounts } from './farm-evidence.ts';
import { setLimits } from './farm-limits.ts';
import { type Calls, Notes, now, readNotes } from './farm-notes.ts';

export interface FarmOptions {
  /** A store of its own, or one that the caller has prepared. */
  readonly store: StoreName | Ground;
  readonly seed: number;
  /** SIGKILLs and freezes; drains come on top. */
  readonly kills: number;
  readonly tasks: number;
  readonly leaseMs: number;
  /** Who does the housekeeping: a process that is never killed, or the workers themselves. */
  readonly duties: 'keeper' | 'workers';
  /** From one strike to the next, on average. */
  readonly gapMs: number;
  /** How long it may take until all is finished once the faults have stopped. */
  readonly patienceMs: number;
  /** What befalls the run instead of the strikes. */
  readonly trouble?: (farm: Troubled) => Promise<void>;
  /** Kinds of tasks that are left out, such as those that kill. */
  readonly without?: readonly string[];
  /** Clients name their pushes, so that they can repeat them; default true. */
  readonly ops?: boolean;
  readonly roles?: readonly Role[];
}

/** What a trouble sees of the run. */
export interface Troubled {
  /** Clients have pushed up to this share of their tasks, or will. */
  readonly allow: (share: number) => void;
  /** Every worker has said that it works. */
  readonly working: () => Promise<void>;
}

export interface FarmReport extends Verdict {
  readonly options: FarmOptions;
  readonly struck: Readonly<Record<Strike, number>>;
  readonly seconds: number;
  readonly healedMs: number;
  /** Processes of the farm that were left when all workers had ended. */
  readonly orphans: readonly string[];
  /** What processes of ours wrote to their standard error. */
  readonly complaints: readonly string[];
  /** What clients and workers asked of Postgres, as seen from outside the store. */
  readonly calls: Calls;
  /** How often the limits were looked at meanwhile, and how often one of them was full. */
  readonly looks: { readonly all: number; readonly full: number };
  /** Warnings of workers and of the keeper, by what they say. */
  readonly warnings: Readonly<Record<string, number>>;
}

type Strike = 'kill' | 'freeze' | 'drain';
type Role = 'inline' | 'apart' | 'shell';

const ROLES: readonly Role[] = ['inline', 'inline', 'inline', 'inline', 'apart', 'shell'];
const CLIENTS = 2;
/** The share of strikes that hit whoever it is, even one that is still starting. */
const EARLY = 0.1;
const program = (name: string): URL => new URL(`./farm-${name}-child.ts`, import.meta.url);

/** Runs a farm in a folder of its own; `tell` hears of its progress. */
export async function runFarm(options: FarmOptions, tell: (line: string) => void = () => {}): Promise<FarmReport> {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-farm-'));
  const cleanups: (() => Promise<void> | void)[] = [];
  try {
    const { store } = options;
    const ground = typeof store === 'string' ? await groundOf(store, folder) : store;
    return await new Farm(options, ground, folder, tell, (fn) => void cleanups.push(fn)).run();
  } finally {
    for (const cleanup of cleanups) await cleanup();
    if (process.env['FARM_KEEP'] === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

interface Place {
  readonly role: Role;
  child: Child;
  frozen: boolean;
  /** Told to end, by us. */
  ending: boolean;
}

class Farm {
  readonly #options: FarmOptions;
  readonly #ground: Ground;
  readonly #folder: string;
  readonly #tell: (line: string) => void;
  readonly #after: (fn: () => Promise<void>) => void;
  readonly #rng: Rng;
  readonly #nursery: Nursery;
  readonly #notes: Notes;
  readonly #all: Child[] = [];
  readonly #struck: Record<Strike, number> = { kill: 0, freeze: 0, drain: 0 };
  readonly #places: Place[] = [];
  readonly #thaws = new Set<Promise<void>>();
  #clients: readonly Child[] = [];
  #closing = false;

  constructor(
    options: FarmOptions,
    ground: Ground,
    folder: string,
    tell: (line: string) => void,
    after: (fn: () => Promise<void>) => void,
  ) {
    this.#options = options;
    this.#ground = ground;
    this.#folder = folder;
    this.#tell = tell;
    this.#after = after;
    this.#rng = new Rng(options.seed);
    this.#notes = new Notes(folder, 'farm');
    this.#nursery = new Nursery({ after } as unknown as TestContext, {
      environment: {
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(folder, 'compiled'),
        FARM_FOLDER: folder,
      },
    });
  }

  async run(): Promise<FarmReport> {
    try {
      return await this.#run();
    } finally {
      // Whatever happened: those who end from now on are not replaced.
      this.#closing = true;
    }
  }

  async #run(): Promise<FarmReport> {
    const { duties, leaseMs, roles = ROLES, trouble } = this.#options;
    const began = now();
    await setLimits(this.#ground.url);
    const watch = new SlotWatch(this.#ground.eye());
    this.#after(() => watch.stop());
    const keeper = duties === 'keeper' ? this.#start('keeper', [this.#folder, String(leaseMs)]) : undefined;
    await keeper?.hear('keeping');
    for (const role of roles) this.#places.push({ role, child: this.#startWorker(role), frozen: false, ending: false });
    for (const place of this.#places) void this.#watch(place);
    this.#startClients();
    await (trouble === undefined ? this.#strikeAll() : trouble(this.#troubled()));
    const { healedMs, queues } = await this.#heal();
    this.#closing = true;
    await Promise.all(this.#places.map((place) => this.#drain(place)));
    const orphans = await this.#orphans();
    const notes = readNotes(this.#folder);
    await watch.stop();
    const snapshot = await this.#ground.look();
    const verdict = check({ notes, finals: this.#finals(), queues, leaseMs, words: snapshot.words });
    const warnings = countBy(notes.flatMap((note) => (note.note === 'warned' ? [note.what] : [])));
    const ended = keeper?.alive === false ? ['the keeper has ended'] : [];
    const drifted = Object.keys(warnings).filter((what) => what.includes('drifted'));
    const violations = [...verdict.violations, ...ended, ...drifted, ...watch.faults, ...faultsOf(snapshot)];
    return {
      ...verdict,
      violations,
      options: this.#options,
      struck: this.#struck,
      seconds: (now() - began) / 1000,
      healedMs,
      orphans,
      complaints: this.#all.map(({ errors }) => errors).filter((errors) => errors !== ''),
      calls: addCalls(notes.filter((note) => note.note === 'calls')),
      looks: { all: watch.looks, full: watch.full },
      warnings,
    };
  }

  #troubled(): Troubled {
    return {
      allow: (share) => this.#allow(share),
      working: async () => void (await Promise.all(this.#places.map(({ child }) => child.hear('working')))),
    };
  }

  #start(name: string, args: readonly string[]): Child {
    const child = this.#nursery.start(program(name), [this.#ground.url, ...args]);
    this.#all.push(child);
    return child;
  }

  #startWorker(role: Place['role']): Child {
    const { leaseMs, duties } = this.#options;
    const housekeeping = duties === 'workers' ? 'duties' : 'none';
    return this.#start('worker', [this.#folder, role, housekeeping, String(leaseMs)]);
  }

  /** Whoever ends is replaced, for as long as the farm is open. */
  async #watch(place: Place): Promise<void> {
    for (;;) {
      const { process: ended } = place.child;
      await place.child.ended;
      this.#notes.write({ note: 'died', pid: ended.pid as number, code: ended.exitCode, signal: ended.signalCode });
      if (ended.exitCode !== 0 && ended.exitCode !== null) this.#tell(`a worker failed:\n${place.child.errors}`);
      if (this.#closing) return;
      place.frozen = place.ending = false;
      place.child = this.#startWorker(place.role);
    }
  }

  #startClients(): void {
    const { seed, tasks, ops = true, without = [] } = this.#options;
    this.#clients = Array.from({ length: CLIENTS }, (_, i) => {
      const count = Math.floor(tasks / CLIENTS) + (i < tasks % CLIENTS ? 1 : 0);
      const order = { client: i, clients: CLIENTS, seed: seed * CLIENTS + i, count, ops, without };
      return this.#start('client', [this.#folder, JSON.stringify(order)]);
    });
    this.#allow(0.1);
  }

  /** Clients push in step with the strikes, so that there is work to the last one. */
  #allow(share: number): void {
    for (const client of this.#clients) client.tell({ word: 'upTo', share });
  }

  async #strikeAll(): Promise<void> {
    const { kills, gapMs } = this.#options;
    const done = (): number => this.#struck.kill + this.#struck.freeze;
    let told = now();
    while (done() < kills) {
      await pause(this.#rng.float() * 2 * gapMs);
      const place = await this.#victim();
      const chance = this.#rng.float();
      if (chance < 0.45) this.#kill(place);
      else if (chance < 0.85) this.#freeze(place, this.#options.leaseMs * this.#freezeLeases());
      else void this.#drain(place);
      this.#allow(0.1 + (0.9 * done()) / kills);
      if (now() - told < 2000) continue;
      told = now();
      this.#tell(`${done()} of ${kills} kills and freezes, ${this.#struck.drain} drains`);
    }
  }

  /** Mostly 0.3 to 2 leases; a quarter is so long that somebody else is at the task by then. */
  #freezeLeases(): number {
    return this.#rng.chance(0.25) ? 2 + 2 * this.#rng.float() : 0.3 + 1.7 * this.#rng.float();
  }

  async #victim(): Promise<Place> {
    const early = this.#rng.chance(EARLY);
    const chance = this.#rng.float();
    for (;;) {
      const able = this.#places.filter(
        ({ child, frozen, ending }) => child.alive && !frozen && !ending && (early || child.said('working')),
      );
      if (able.length > 0) return able[Math.floor(chance * able.length)] as Place;
      await pause(10);
    }
  }

  #signal({ child }: Place, signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 'SIGTERM'): void {
    const pid = child.process.pid as number;
    this.#notes.write({ note: 'struck', signal, pid, at: now() });
    child.process.kill(signal);
  }

  #kill(place: Place): void {
    this.#struck.kill++;
    place.ending = true;
    this.#signal(place, 'SIGKILL');
  }

  #freeze(place: Place, ms: number): void {
    this.#struck.freeze++;
    place.frozen = true;
    const { child } = place;
    this.#signal(place, 'SIGSTOP');
    const thaw = (async () => {
      await pause(ms);
      if (place.child !== child) return;
      this.#signal(place, 'SIGCONT');
      place.frozen = false;
    })();
    this.#thaws.add(thaw);
    void thaw.then(() => this.#thaws.delete(thaw));
  }

  async #drain(place: Place): Promise<void> {
    const { child } = place;
    place.ending = true;
    if (!this.#closing) this.#struck.drain++;
    // One that is still starting does not listen yet, and would be ended by the signal itself.
    await child.hear('working').catch(() => {});
    if (child.alive) this.#signal(place, 'SIGTERM');
    await child.ended;
  }

  /** The faults have stopped; what the killers still kill is replaced. */
  async #heal(): Promise<{ healedMs: number; queues: readonly QueueCounts[] }> {
    this.#allow(1);
    await Promise.all(this.#thaws);
    const began = now();
    const { patienceMs } = this.#options;
    await Promise.all(this.#clients.map((client) => client.hear('pushed')));
    const quiet = AbortSignal.timeout(patienceMs);
    const late = new Promise((resolve) => quiet.addEventListener('abort', resolve));
    await Promise.race([Promise.all(this.#clients.map((client) => client.hear('done'))), late]);
    const reader = this.#start('reader', [join(this.#folder, 'finals.json'), String(patienceMs)]);
    const { queues } = await reader.hear('read');
    return { healedMs: now() - began, queues: queues as readonly QueueCounts[] };
  }

  #finals(): readonly Final[] {
    const lines = readFileSync(join(this.#folder, 'finals.json'), 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Final);
  }

  /** Whoever still carries the folder of this farm in its environment or its arguments, the keeper aside. */
  async #orphans(): Promise<readonly string[]> {
    const deadline = now() + 5000;
    for (;;) {
      const left = processesMarked(this.#folder).filter(({ command }) => !command.includes('farm-keeper-child'));
      if (left.length === 0 || now() > deadline) return left.map(({ pid, command }) => `${pid} ${command}`);
      await pause(50);
    }
  }
}

function addCalls(notes: readonly Calls[]): Calls {
  const failed: Record<string, number> = {};
  for (const note of notes) {
    for (const [why, count] of Object.entries(note.failed)) failed[why] = (failed[why] ?? 0) + count;
  }
  const sum = (key: 'asked' | 'pushesFound' | 'claimsFound'): number => notes.reduce((all, one) => all + one[key], 0);
  return { asked: sum('asked'), failed, pushesFound: sum('pushesFound'), claimsFound: sum('claimsFound') };
}

function countBy(words: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries([...Map.groupBy(words, (word) => word)].map(([word, all]) => [word, all.length]));
}

/** The figures of a run in a few lines. */
export function describeFarm(report: FarmReport): string {
  const { options, struck, seconds, healedMs, acknowledged, starts, againMs, violations, gates, orphans } = report;
  const { complaints, calls, looks, warnings } = report;
  const again =
    againMs.length === 0 ? 'none' : `${ms(againMs[againMs.length >> 1])} median, ${ms(againMs.at(-1))} at most`;
  return [
    `seed ${options.seed} on ${typeof options.store === 'string' ? options.store : 'postgres'}, duties by ${options.duties}, lease ${options.leaseMs} ms: ${struck.kill} kills, ` +
      `${struck.freeze} freezes, ${struck.drain} drains over ${acknowledged} tasks and ${starts} starts in ` +
      `${seconds.toFixed(1)} s; healed in ${ms(healedMs)}`,
    `from a kill to the next start of what it cut off: ${again} (${againMs.length} of them)`,
    `met: ${JSON.stringify(gates)}; limits looked at ${looks.all} times, full in ${looks.full}`,
    ...(calls.asked === 0 ? [] : [`calls of Postgres: ${JSON.stringify(calls)}`]),
    ...(Object.keys(warnings).length === 0 ? [] : [`warnings: ${JSON.stringify(warnings)}`]),
    `${violations.length} violations, ${orphans.length} orphans, ${complaints.length} complaints`,
    ...violations.slice(0, 20),
    ...orphans.slice(0, 5),
    ...complaints.slice(0, 3),
  ].join('\n');
}

function ms(value: number | undefined): string {
  return `${Math.round(value ?? 0)} ms`;
}

if (import.meta.main) {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: { kills: text, tasks: text, seed: text, store: text, duties: text, lease: text, gap: text },
  });
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1e6));
  console.log(`seed ${seed}`);
  const report = await runFarm(
    {
      store: values.store === 'postgres' ? 'postgres' : 'sqlite',
      seed,
      kills: Number(values.kills ?? 300),
      tasks: Number(values.tasks ?? 10_000),
      leaseMs: Number(values.lease ?? 600),
      duties: values.duties === 'workers' ? 'workers' : 'keeper',
      gapMs: Number(values.gap ?? 350),
      patienceMs: 120_000,
    },
    (line) => console.log(line),
  );
  console.log(describeFarm(report));
  process.exitCode = report.violations.length + report.orphans.length > 0 ? 1 : 0;
}
