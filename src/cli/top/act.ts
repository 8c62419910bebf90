import type { Client } from '../../client/client.ts';
import { isEngineError } from '../../core/errors.ts';
import { QUICK_CALL } from './node-poller.ts';
import type { Act, Status } from './state.ts';

/** Does what somebody said yes to, and says what came of it. What is refused is said as well: nothing here ends the looking. */
export async function perform(client: Client, act: Act, by: string): Promise<Status> {
  try {
    return { tone: 'good', text: await done(client, act, by) };
  } catch (error) {
    return { tone: 'bad', text: refusal(error) };
  }
}

async function done(client: Client, act: Act, by: string): Promise<string> {
  const ask = { ...QUICK_CALL, by };
  switch (act.kind) {
    case 'pause': {
      const { ready, running } = await client.call('pauseQueue', { ...ask, params: { queue: act.queue } });
      return `Paused ${act.queue}: ${ready} ready tasks wait, ${running} run on.`;
    }
    case 'resume':
      await client.call('resumeQueue', { ...ask, params: { queue: act.queue } });
      return `Resumed ${act.queue}.`;
    case 'cancel': {
      const { tasks } = await client.call('cancelTask', { ...ask, params: { id: act.task }, body: {} });
      return `${act.task}: ${CANCELLED[tasks[0]?.act ?? ''] ?? 'cancelled.'}`;
    }
    case 'drain': {
      const { running } = await client.call('editWorker', {
        ...ask,
        params: { name: act.worker },
        body: { enabled: false },
      });
      return running === 0
        ? `${act.worker} is drained.`
        : `${act.worker} takes nothing more; ${running} of its tasks run on.`;
    }
    case 'enable':
      await client.call('editWorker', { ...ask, params: { name: act.worker }, body: { enabled: true } });
      return `${act.worker} takes tasks again.`;
  }
}

const CANCELLED: Readonly<Record<string, string>> = {
  cancelled: 'cancelled.',
  requested: 'its worker is asked to stop.',
  finished: 'it had ended before.',
};

/** The message and what to do about it, in one line. */
export function refusal(error: unknown): string {
  if (!isEngineError(error)) return error instanceof Error ? error.message : String(error);
  return error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
}
