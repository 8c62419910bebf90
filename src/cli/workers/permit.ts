import { loadCall, sourceOf } from '../../config/load.ts';
import type { Config, OptionKey } from '../../config/options.ts';
import { type Permissions, permitWorker, settingsOf } from '../../operate/calls/worker-calls.ts';
import type { WorkerSettingView } from '../../operate/views.ts';
import { type Out, outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { permissionRows } from './grant-words.ts';
import { NAME, unknownWords, workerNames } from './name.ts';

/** Options that change something. */
const CHANGES = [
  'permitHandler',
  'permitQueue',
  'permitTag',
  'permitWorker',
  'permitLimit',
  'permitChannel',
  'permitWait',
  'permitReuse',
  'none',
] as const satisfies readonly OptionKey[];

/** `leasehold workers permit NAME`. */
export const permit: Command = {
  name: 'workers permit',
  doc: 'Permit to the tasks that a worker of another host runs what they may do to others',
  args: [NAME],
  options: [...CHANGES, ...OPERATOR_OPTIONS],
  examples: [
    { line: "workers permit gpu-box --handler 'render-*' --queue media", does: 'spawn these handlers, also there' },
    { line: "workers permit gpu-box --channel 'orders:*'", does: 'wait on these channels, and signal them' },
    { line: 'workers permit gpu-box --none', does: 'only what any worker may' },
    { line: 'workers permit gpu-box', does: 'what is permitted to it now' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(permit, args);
    const names = workerNames(words) as [string];
    const permissions = permissionsOf(config);
    const out = outFor(config);
    const isShown = CHANGES.every((key) => sourceOf(config, key) === 'default');
    const [answer] = await withOperator(config, async (operator) =>
      isShown
        ? await settingsOf(operator, names)
        : [await permitWorker(operator, names[0], permissions, { replace: config.none })],
    );
    if (out.mode === 'json') out.json(answer);
    else tell(answer as WorkerSettingView, out);
    return EXIT.fine;
  },
};

function permissionsOf(config: Config): Permissions {
  return {
    handlers: config.permitHandler,
    queues: config.permitQueue,
    tags: config.permitTag,
    workers: config.permitWorker,
    limits: config.permitLimit,
    channels: config.permitChannel,
    waits: config.permitWait,
    reuse: config.permitReuse,
  };
}

function tell(answer: WorkerSettingView, out: Out): void {
  const rows = permissionRows(answer.grant ?? {});
  const { name } = answer;
  if (rows.length === 0) {
    out.line(
      `Tasks of ${name} may spawn what it may run, in their own queue, and nothing else.${unknownWords(answer)}`,
    );
    return;
  }
  out.line(`Tasks of ${name} may, besides what any may:${unknownWords(answer)}`);
  for (const [kind, words] of rows) out.line(`  ${out.paint('dim', kind.padEnd(9))} ${words}`);
}
