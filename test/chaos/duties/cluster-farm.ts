import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { DUTIES } from '../../../src/engine/duties/roster.ts';
import { Rng } from '../../sim/rng.ts';
import { CLUSTER_SECRET, type Running, run } from '../../support/leasehold.ts';
import { isAlive, until } from '../survivors.ts';

/** Processes take their time while other tests keep the host busy. */
export const PATIENCE_MS = 120_000;
const TOKEN = 'an-admin-token-of-a-test';
const BATCH = 20;
/** One that is stopped does not keep the pushes for long. */
const ANSWER_MS = 1500;

export interface ClusterFarmOptions {
  readonly t: TestContext;
  readonly folder: string;
  /** The database; every node adds its own name to it. */
  readonly url: string;
  readonly schema: string;
  readonly nodes: number;
  readonly leaseMs: number;
  readonly leaderLeaseMs: number;
  readonly leaderRenewMs: number;
}

interface FarmNode {
  readonly name: string;
  /** It has one built in. */
  readonly worker: boolean;
  address: string;
  process: Running;
}

interface Leader {
  readonly node: string;
  readonly epoch: number;
}

/** A span without a leader that worked, by the server's clock. */
export interface Gap {
  readonly how: 'killed' | 'frozen';
  /** Of the leader that was struck. */
  readonly epoch: number;
  readonly from: number;
  readonly until: number;
  /** When each duty of the one that was struck had somebody else, after the blow. */
  readonly duties: Readonly<Record<string, number>>;
}

/** Nodes on one database, workers that were given all of their addresses, and what happens to whoever leads. */
export class ClusterFarm {
  readonly mark = `cluster-${randomUUID()}`;
  readonly gaps: Gap[] = [];
  readonly acknowledged: string[] = [];
  readonly #options: ClusterFarmOptions;
  readonly #rng = new Rng(7);
  readonly #nodes: FarmNode[] = [];
  readonly #workers: Running[] = [];
  readonly #client: pg.Client;
  #asked = 0;
  #keys = 0;

  constructor(options: ClusterFarmOptions) {
    this.#options = options;
    this.#client = new pg.Client({ connectionString: options.url });
  }

  get client(): pg.Client {
    return this.#client;
  }

  /** The first nodes have a worker built in; remote ones come by whichever node is there. */
  async open({ builtin, remote }: { readonly builtin: number; readonly remote: number }): Promise<void> {
    const { nodes, t } = this.#options;
    await this.#client.connect();
    t.after(() => this.#client.end());
    const names = Array.from({ length: nodes }, (_, i) => `n${i + 1}`);
    for (const [i, name] of names.entries()) {
      const started = this.#startNode(name, i < builtin, 0);
      this.#nodes.push({ name, worker: i < builtin, address: '', process: started });
    }
    for (const node of this.#nodes) node.address = await node.process.address();
    for (let i = 1; i <= remote; i++) await this.#startWorker(`far-${i}`);
    await Promise.all(this.#workers.map((worker) => worker.says(/"started"/)));
  }

  /** Pushes so many tasks, some of them due a little later, each until it is acknowledged. */
  async push(count: number, gapMs: number): Promise<void> {
    const rng = this.#rng;
    for (let pushed = 0; pushed < count; pushed += BATCH) {
      const tasks = Array.from({ length: Math.min(BATCH, count - pushed) }, () => ({
        queue: 'work',
        handler: 'echo',
        // Few are long: the slots of one built-in worker have time for all, so that nothing waits but for want of a claim.
        input: { delay_ms: rng.chance(0.1) ? rng.int(200, 800) : rng.int(10, 90) },
        maxAttempts: 50,
        ...(rng.chance(0.2) ? { delay: 300 } : {}),
      }));
      const key = `push-${++this.#keys}`;
      const answer = await this.ask<{ tasks: readonly { id: string }[] }>(
        '/api/v1/tasks',
        { tasks },
        { 'idempotency-key': key },
      );
      this.acknowledged.push(...answer.tasks.map(({ id }) => id));
      await pause(gapMs);
    }
  }

  /** Somebody leads, and has renewed its term since the witness looks on. */
  async hasRenewed(): Promise<boolean> {
    const { rows } = await this.#client.query(
      `SELECT FROM "${this.#options.schema}".tenure WHERE duty = 'leader' LIMIT 1`,
    );
    return rows.length > 0;
  }

  /** Kills the leader, waits for the next one and its duties, and starts the victim again. */
  async killLeader(): Promise<Gap> {
    const { victim, epoch, held } = await this.#victim();
    const from = await this.clock();
    victim.process.child.kill('SIGKILL');
    await victim.process.ended;
    const gap = await this.#followed('killed', epoch, held, from);
    const { port } = new URL(victim.address);
    // It comes back while the others go on.
    victim.process = this.#startNode(victim.name, victim.worker, Number(port));
    return gap;
  }

  /** Stops the leader until another one leads, and lets it go on: it must find that it leads no more. */
  async freezeLeader(): Promise<Gap> {
    const { victim, epoch, held } = await this.#victim();
    const from = await this.clock();
    victim.process.child.kill('SIGSTOP');
    const gap = await this.#followed('frozen', epoch, held, from);
    victim.process.child.kill('SIGCONT');
    const role = async (): Promise<string | undefined> => (await this.#rowOf(victim.name))?.stand;
    const conceded = await until(async () => (await role()) === 'worker', PATIENCE_MS);
    assert.ok(conceded !== undefined, `${victim.name} was frozen and still says that it is ${await role()}`);
    return gap;
  }

  async drain(): Promise<void> {
    const left = async (): Promise<number> => {
      const { tasks } = await this.ask<{ tasks: readonly unknown[] }>(
        '/api/v1/tasks?queue=work&state=ready&state=running&state=scheduled&limit=1',
      );
      return tasks.length;
    };
    const over = await until(async () => (await left()) === 0, PATIENCE_MS);
    assert.ok(over !== undefined, 'everything comes to its end');
  }

  /** In order, one after the other: with each the leadership goes on. */
  async close(): Promise<void> {
    for (const worker of this.#workers) worker.child.kill('SIGTERM');
    for (const worker of this.#workers) {
      assert.deepEqual(await worker.ended, { code: 0, signal: null }, worker.stdout.slice(-2000) + worker.stderr);
    }
    for (const { process } of this.#nodes) {
      await process.address();
      process.child.kill('SIGTERM');
      assert.deepEqual(await process.ended, { code: 0, signal: null }, process.stdout.slice(-2000) + process.stderr);
    }
  }

  /** The server's clock. */
  async clock(): Promise<number> {
    return Number((await this.#client.query(`SELECT "${this.#options.schema}".now_ms() AS now`)).rows[0].now);
  }

  /** Any node will do; one that is away is passed over. */
  async ask<T>(path: string, body?: object, headers: Readonly<Record<string, string>> = {}): Promise<T> {
    for (const deadline = Date.now() + PATIENCE_MS; ; ) {
      const node = this.#nodes[this.#asked++ % this.#nodes.length] as FarmNode;
      try {
        const response = await request(node, path, { body, headers, answerMs: ANSWER_MS });
        if (response.ok) return (await response.json()) as T;
        if (response.status !== 503) assert.fail(`${path}: ${response.status} ${await response.text()}`);
      } catch (error) {
        if (error instanceof assert.AssertionError || Date.now() > deadline) throw error;
      }
      await pause(20);
    }
  }

  async #victim(): Promise<{ readonly victim: FarmNode; readonly epoch: number; readonly held: readonly string[] }> {
    let leader: Leader | undefined;
    let held: readonly string[] = [];
    const steady = await until(async () => {
      leader = await this.#leader();
      held = await this.#heldBy(leader?.node);
      return DUTIES.every((duty) => held.includes(duty));
    }, PATIENCE_MS);
    assert.ok(steady !== undefined && leader !== undefined, `the leader ${leader?.node} holds only ${held.join(', ')}`);
    // Anywhere within its term.
    await pause(this.#rng.int(0, this.#options.leaderRenewMs));
    const victim = this.#nodes.find(({ name }) => name === leader?.node) as FarmNode;
    return { victim, epoch: leader.epoch, held };
  }

  /** Until another one leads and works. */
  async #followed(how: Gap['how'], epoch: number, held: readonly string[], from: number): Promise<Gap> {
    const { schema, leaderLeaseMs } = this.#options;
    const first = async (duty: string, above: number): Promise<number | undefined> => {
      const { rows } = await this.#client.query(
        `SELECT min(at)::float8 AS at FROM "${schema}".tenure WHERE duty = $1 AND epoch > $2 AND at >= $3`,
        [duty, above, from],
      );
      return rows[0].at ?? undefined;
    };
    let leadsAt: number | undefined;
    const duties: Record<string, number> = {};
    const epochs = await this.#epochsBefore(held, from);
    const followed = await until(async () => {
      leadsAt ??= await first('leader', epoch);
      for (const duty of held) {
        const at = duties[duty] === undefined ? await first(duty, epochs.get(duty) ?? 0) : undefined;
        if (at !== undefined) duties[duty] = at - from;
      }
      return leadsAt !== undefined && Object.keys(duties).length === held.length;
    }, PATIENCE_MS + leaderLeaseMs);
    assert.ok(followed !== undefined && leadsAt !== undefined, `nobody followed ${epoch}: ${JSON.stringify(duties)}`);
    const gap = { how, epoch, from, until: leadsAt, duties };
    this.gaps.push(gap);
    return gap;
  }

  async #epochsBefore(held: readonly string[], at: number): Promise<ReadonlyMap<string, number>> {
    const { rows } = await this.#client.query(
      `SELECT duty, max(epoch)::int AS epoch FROM "${this.#options.schema}".tenure WHERE duty = ANY($1) AND at < $2 GROUP BY duty`,
      [held, at],
    );
    return new Map(rows.map(({ duty, epoch }) => [duty, epoch]));
  }

  async #leader(): Promise<Leader | undefined> {
    const s = `"${this.#options.schema}"`;
    const { rows } = await this.#client.query(
      `SELECT split_part(holder, '/', 1) AS node, epoch::int FROM ${s}.duty WHERE name = 'leader' AND until >= ${s}.now_ms()`,
    );
    return rows[0];
  }

  async #heldBy(node: string | undefined): Promise<readonly string[]> {
    const s = `"${this.#options.schema}"`;
    const { rows } = await this.#client.query(
      `SELECT name FROM ${s}.duty WHERE split_part(holder, '/', 1) = $1 AND name <> 'leader' AND until >= ${s}.now_ms()`,
      [node],
    );
    return rows.map(({ name }) => name);
  }

  async #rowOf(node: string): Promise<{ readonly stand: string } | undefined> {
    const { rows } = await this.#client.query(
      `SELECT stand FROM "${this.#options.schema}".cluster_node WHERE id = $1`,
      [node],
    );
    return rows[0];
  }

  #startNode(name: string, worker: boolean, port: number): Running {
    const { t, folder, url, schema, leaseMs, leaderLeaseMs, leaderRenewMs } = this.#options;
    const cwd = join(folder, name);
    mkdirSync(cwd, { recursive: true });
    const store = `${url}&schema=${schema}&pool=4&application_name=${name}`;
    const times = ['--lease-duration', `${leaseMs}ms`, '--leader-lease', `${leaderLeaseMs}ms`];
    const flags = ['--json', '--port', `${port}`, '--name', name, '--leader-renew', `${leaderRenewMs}ms`, ...times];
    const work = worker ? ['--slots', '4'] : ['--no-worker'];
    const started = run(t, ['up', '--store', store, ...flags, ...work], {
      cwd,
      env: { CLUSTER_MARK: this.mark, LEASEHOLD_TOKEN: TOKEN, LEASEHOLD_CLUSTER_SECRET: CLUSTER_SECRET },
    });
    this.#thaw(started);
    return started;
  }

  /** Asked once, however long it takes: a name that is given out again has a new secret, and the first one ends. */
  async #enrol(name: string): Promise<string> {
    const [first] = this.#nodes as [FarmNode];
    const response = await request(first, '/api/v1/workers', { body: { name }, answerMs: PATIENCE_MS });
    const text = await response.text();
    assert.ok(response.ok, `${name} is not let in: ${response.status} ${text}`);
    return (JSON.parse(text) as { secret: string }).secret;
  }

  async #startWorker(name: string): Promise<void> {
    const { t, folder } = this.#options;
    const secret = await this.#enrol(name);
    const cwd = join(folder, name);
    mkdirSync(cwd, { recursive: true });
    const join_ = this.#nodes.flatMap(({ address }) => ['--join', address]);
    const flags = ['--name', name, '--secret', secret, '--slots', '3', '--json'];
    const worker = run(t, ['worker', ...join_, ...flags], { cwd, env: { CLUSTER_MARK: this.mark } });
    this.#workers.push(worker);
  }

  /** One that is stopped cannot hear that it is killed. */
  #thaw({ child }: Running): void {
    const pid = child.pid as number;
    this.#options.t.after(() => void (isAlive(pid) && process.kill(pid, 'SIGCONT')));
  }
}

interface Asking {
  readonly body?: object | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly answerMs: number;
}

function request({ address }: FarmNode, path: string, { body, headers, answerMs }: Asking): Promise<Response> {
  return fetch(address + path, {
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(answerMs),
  });
}
