import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../client/client.ts';
import { loadConfig } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import { isEngineError } from '../../core/errors.ts';
import { type Out, outFor } from '../display/out.ts';
import { safeText } from '../display/safe.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { EXIT, exitCodeOfSignal } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withNode } from '../kit/operator-for.ts';
import { onStopSignals } from '../kit/stop-signals.ts';

/** `leasehold top`. */
export const top: Command = {
  name: 'top',
  doc: 'Show a node live: queues, workers, running tasks, limits and events',
  args: [],
  options: ['interval', 'lookOnce', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'top', does: 'the node of this folder; ? shows the keys, q quits' },
    {
      line: 'top --server https://node:7420',
      does: 'another node, by LEASEHOLD_TOKEN; one that may only read will do',
    },
    { line: 'top --json --once | jq -r .sentence', does: 'the health of the cluster, in one sentence' },
  ],

  async run(args) {
    const config = loadConfig(top, args);
    const { Client } = await import('../../client/client.ts');
    const client = new Client(await withNode(config));
    const stopping = new AbortController();
    const unlisten = onStopSignals({
      stop: (signal) => stopping.abort(signal),
      force: (signal) => process.exit(exitCodeOfSignal(signal)),
    });
    try {
      const out = outFor(config);
      if (out.mode !== 'screen' || config.lookOnce || !process.stdin.isTTY)
        await print(client, config, out, stopping.signal);
      else await show(client, config, out, stopping.signal);
    } catch (error) {
      if (!stopping.signal.aborted) throw error;
    } finally {
      unlisten();
      client.close();
    }
    return EXIT.fine;
  },
};

async function show(client: Client, config: Config, out: Out, signal: AbortSignal): Promise<void> {
  const [{ Top }, { RealTerminal }] = await Promise.all([import('../top/top.ts'), import('../top/terminal.ts')]);
  const terminal = new RealTerminal(process.stdin, process.stdout);
  await Top.run({ client, terminal, out, intervalMs: config.interval, by: actingUser(undefined), signal });
}

/** For programs: the overview as one object a line, each interval. A node that is away is reported once and waited for. */
async function print(client: Client, { interval, lookOnce }: Config, out: Out, signal: AbortSignal): Promise<void> {
  out.json(await client.call('overview', { signal }));
  let away = '';
  while (!lookOnce && !signal.aborted) {
    await sleep(interval, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    try {
      out.json(await client.call('overview', { signal, patienceMs: 0 }));
      away = '';
    } catch (error) {
      if (signal.aborted || !isEngineError(error) || !error.retryable) throw error;
      if (away !== error.message) out.note(safeText(error.message));
      away = error.message;
    }
  }
}
