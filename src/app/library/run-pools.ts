/** What pools of runs need of other folders: `compat` imports nothing but `app`. */
import { environment } from '../../config/environment.ts';
import type { Secrets } from '../../flow/agent/secrets.ts';
import { secretsOf } from '../../worker/agent-run/secrets.ts';

export { isEngineError } from '../../core/errors.ts';
export { pause } from '../../core/pause.ts';
export { backoffMs, decidePool } from '../../core/pools/decide.ts';
export { checkPool } from '../../core/pools/pool.ts';
export type { World } from '../../core/world.ts';
export { type Log, SILENT } from '../../engine/log.ts';
export { queueScale } from '../../engine/read/scale.ts';
export { EventLog } from '../../worker/agent-run/event-log.ts';
export type { AnyTask, TaskContext } from '../../worker/define/definition.ts';
export { giveUp } from '../../worker/define/outcome.ts';
export { task } from '../../worker/define/task.ts';
export type { Worker as TaskWorker } from '../../worker/worker.ts';

/** Tokens of gateways and keys of providers in the environment: what an agent says may repeat them. */
export function usualSecrets(): Secrets {
  return secretsOf({}, environment(), undefined);
}
