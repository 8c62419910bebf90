/** Some nodes on one database, four workers spread over them, and somebody who pushes. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClientArgs, ClientVerbs } from '../cluster/client-child.ts';
import type { Done, WorkerArgs, WorkerVerbs } from '../cluster/worker-child.ts';
import { treeMicros } from '../ground/cpu.ts';
import { Helper } from '../hub/line.ts';
import type { World } from '../measures/measure.ts';
import { ClusterNode } from './node.ts';
import type { Start } from './words.ts';

const WORKERS = 4;
const LOOK_MS = 25;
const PATIENCE_MS = 120_000;

export interface SceneOptions {
  readonly nodes: number;
  /** Of each worker. */
  readonly slots: number;
}

export class Scene {
  readonly place: string;
  readonly nodes: readonly ClusterNode[];
  readonly client: Helper<ClientVerbs>;
  readonly #workers: readonly Helper<WorkerVerbs>[];

  private constructor(place: string, nodes: readonly ClusterNode[], slots: number) {
    this.place = place;
    this.nodes = nodes;
    const urls = nodes.map(({ address }) => address);
    this.client = new Helper('../cluster/client-child.ts', { store: place, urls } satisfies ClientArgs);
    this.#workers = Array.from({ length: WORKERS }, (_, i) => {
      const at = i % urls.length;
      const own = [...urls.slice(at), ...urls.slice(0, at)] as [string, ...string[]];
      return new Helper('../cluster/worker-child.ts', { name: `w${i}`, urls: own, slots } satisfies WorkerArgs);
    });
  }

  /** The first node leads: it was alone. */
  static async open(world: World, { nodes, slots }: SceneOptions): Promise<Scene> {
    const place = await world.fresh();
    const folder = join(world.ground.folder, 'nodes');
    mkdirSync(folder, { recursive: true });
    const started: ClusterNode[] = [];
    for (let i = 1; i <= nodes; i++) started.push(await ClusterNode.start({ name: `n${i}`, store: place, folder }));
    const scene = new Scene(place, started, slots);
    await scene.startWorkers();
    return scene;
  }

  async startWorkers(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.ask('start')));
  }

  async stopWorkers(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.ask('stop')));
  }

  done(): Promise<readonly Done[]> {
    return Promise.all(this.#workers.map((worker) => worker.ask('done')));
  }

  async starts(): Promise<readonly Start[]> {
    return (await Promise.all(this.#workers.map((worker) => worker.ask('starts')))).flat();
  }

  /** Waits until the workers have completed so many since they were started; answers how many it were in the end. */
  async completed(count: number): Promise<number> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const sum = (await this.done()).reduce((all, { completed }) => all + completed, 0);
      if (sum >= count || performance.now() > deadline) return sum;
      await delay(LOOK_MS);
    }
  }

  get nodeMicros(): number {
    return this.nodes.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0);
  }

  get workerMicros(): number {
    return this.#workers.reduce((sum, { pid }) => sum + treeMicros(pid), 0);
  }

  async claims(): Promise<number> {
    return (await Promise.all(this.nodes.map((node) => node.claims()))).reduce((sum, one) => sum + one, 0);
  }

  async close(): Promise<void> {
    await this.client.kill();
    await this.stopWorkers();
    await Promise.all(this.#workers.map((worker) => worker.kill()));
    for (const node of this.nodes) await node.stop();
  }
}
