import { type Answered, outcome, sleep } from './calls.ts';
import { perform } from './handler.ts';
import type { SimProcess } from './process.ts';
import type { Run } from './run.ts';
import { drawTags, QUEUES } from './wishes.ts';

/** Lives and dies with its process: claims, runs handlers, renews or forgets to, and says how it ended. */
export async function work(run: Run, process: SimProcess): Promise<void> {
  const { rng } = run;
  const { engine } = process;
  let registrations = 0;
  const register = async (): Promise<number> => {
    for (;;) {
      const incarnation = `${process.name}-${registrations++}`;
      const worker = { name: process.workerName, incarnation, slots: 4, tags: drawTags(rng) };
      const { value } = await outcome(run, process, engine.workers.register(worker));
      if (value !== undefined) return value;
    }
  };
  let worker = await register();
  /** It may count as draining, until it hears that it does not. */
  let draining = false;
  for (let n = 0; ; n++) {
    if (draining || rng.chance(0.3)) {
      const drains: boolean = !draining && !run.healed && rng.chance(0.1);
      const state: 'draining' | 'online' | undefined = drains ? 'draining' : draining ? 'online' : undefined;
      const beat: Answered<boolean> = await outcome(
        run,
        process,
        engine.workers.beat({ worker, ...(state && { state }) }),
      );
      draining = drains || (draining && beat.status !== 'ok');
      // One that was silent for so long that it was forgotten is told so, and begins anew.
      if (beat.value === false) {
        worker = await register();
        draining = false;
      }
    }
    if (rng.chance(0.2)) await outcome(run, process, engine.cancelRequests(worker));
    const claim = `${process.name}/${n}`;
    const op = rng.chance(0.4) ? claim : undefined;
    const queues = rng.chance(0.3) ? [rng.pick(QUEUES), 'cron'] : undefined;
    const options = {
      worker,
      max: rng.int(1, 4),
      waitMs: rng.int(0, 400),
      ...(op === undefined ? {} : { op }),
      ...(queues ? { queues } : {}),
    };
    const some = rng.chance(0.2) ? run.model.unfinished() : [];
    const one =
      some.length > 0 ? { worker, max: 1, task: rng.pick(some), ...(op === undefined ? {} : { op }) } : undefined;
    let claimed = await outcome(run, process, engine.claim(one ?? options));
    // The answer may have been lost after the grant: the same operation id asks for it again.
    if (claimed.status === 'unknown' && op !== undefined)
      claimed = await outcome(run, process, engine.claim(one ?? options));
    for (const grant of claimed.value ?? []) {
      run.history.add({ kind: 'grant', task: grant.task, attempt: grant.attempt, claim });
      void run.guardAsync(perform(run, process, grant));
    }
    await sleep(run, process, rng.int(1, 150));
  }
}
