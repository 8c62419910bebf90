/** The worker of a child that dies by SIGKILL: right after a commit of its tasks, or in an effect. Another child goes on. */
import { dirname, join } from 'node:path';
import { open } from '../../src/app/open.ts';
import { makeWorker } from '../../src/app/worker.ts';
import { realWorld } from '../../src/app/world.ts';
import { SILENT } from '../../src/engine/log.ts';
import { alteredTurns } from '../../src/worker/agent-run/altered-turns.ts';
import type { AnyTask, DrivenAttempt } from '../../src/worker/define/definition.ts';
import { WsLink } from '../../src/worker/links/ws-link.ts';
import type { Worker } from '../../src/worker/worker.ts';
import { hear, leave, say } from './parent.ts';

/** Soon after a death somebody else goes on. */
const LEASE_MS = 4000;

/** Where a child finds its work. */
export interface MortalPlace {
  readonly how: 'store' | 'join';
  /** Of the store, or of a node and then the secret of the worker. */
  readonly address: string;
  /** The file of the effects, beside which a joined worker has its spool. */
  readonly effects: string;
}

export class MortalWorker {
  readonly #death: string;
  #commits = 0;

  /** `commit:N`, or a place that a task names. Empty: it lives. */
  constructor(death: string) {
    this.#death = death;
  }

  dieAt(place: string): void {
    if (place === this.#death) process.kill(process.pid, 'SIGKILL');
  }

  /** The same task. Every turn of it counts. */
  mortal(task: AnyTask): AnyTask {
    const { drive } = task;
    if (drive === undefined) throw new TypeError(`the task ${task.name} has no turns`);
    return { ...task, drive: (input, attempt) => drive(input, this.#counting(attempt)) };
  }

  /** Works until the test says that it is over, and says how many commits there were. */
  async live(place: MortalPlace, tasks: readonly AnyTask[]): Promise<void> {
    const worker = place.how === 'store' ? await onStore(place, tasks) : joined(place, tasks);
    await worker.start();
    say({ word: 'working' });
    await hear('stop');
    await worker.stop({ drain: true });
    leave({ word: 'commits', commits: this.#commits });
  }

  #counting(attempt: DrivenAttempt): DrivenAttempt {
    const session = alteredTurns(attempt.session, (turn) => turn);
    const turn: typeof session.turn = async (request) => {
      const turned = await session.turn(request);
      this.#commits++;
      this.dieAt(`commit:${this.#commits}`);
      return turned;
    };
    return { ...attempt, session: { ...session, turn } };
  }
}

async function onStore({ address }: MortalPlace, tasks: readonly AnyTask[]): Promise<Worker> {
  const app = await open(address, { leaseMs: LEASE_MS });
  return app.worker({ tasks, slots: 2 });
}

function joined({ address, effects }: MortalPlace, tasks: readonly AnyTask[]): Worker {
  const [url, secret] = address.split(' ') as [string, string];
  const [world, log, name] = [realWorld(), SILENT, 'joined'];
  const link = new WsLink({ url, others: [], secret, world, log, spool: join(dirname(effects), 'spool') });
  return makeWorker({ tasks, slots: 2, name }, { link, world, log, name });
}
