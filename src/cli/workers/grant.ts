import { loadCall, sourceOf } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import { type GrantEdit, settingsOf, setWorkers } from '../../operate/calls/worker-calls.ts';
import type { WorkerSettingView } from '../../operate/views.ts';
import { type Out, outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { grantRows } from './grant-words.ts';
import { NAME, unknownWords, workerNames } from './name.ts';

/** `leasehold workers grant NAME`. */
export const grant: Command = {
  name: 'workers grant',
  doc: 'Say which handlers and queues a worker of another host may serve, and how many tasks at a time',
  args: [NAME],
  options: ['grantHandler', 'grantQueue', 'grantSlots', 'any', 'ownCredentials', ...OPERATOR_OPTIONS],
  examples: [
    {
      line: 'workers grant gpu-box --handler render --queue media',
      does: 'that handler, and tasks of that queue only',
    },
    { line: 'workers grant gpu-box --any', does: 'any handler that it offers, and all queues' },
    { line: 'workers grant gpu-box', does: 'what it may run now' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(grant, args);
    const names = workerNames(words);
    const edit = grantEdit(config);
    const out = outFor(config);
    const answers = await withOperator(config, (operator) =>
      Object.keys(edit).length === 0 ? settingsOf(operator, names) : setWorkers(operator, names, edit),
    );
    for (const answer of answers) {
      if (out.mode === 'json') out.json(answer);
      else tell(answer, out);
    }
    return EXIT.fine;
  },
};

/** A kind that is given replaces what was granted of it; with --any the others have no bound any more. */
function grantEdit(config: Config): GrantEdit {
  const { grantHandler: handlers, grantQueue: queues, grantSlots: slots, any, ownCredentials } = config;
  const isGiven = (key: 'grantHandler' | 'grantQueue' | 'grantSlots'): boolean => sourceOf(config, key) !== 'default';
  return {
    ...(isGiven('grantHandler') ? { handlers: [...handlers] } : any ? { handlers: null } : {}),
    ...(isGiven('grantQueue') ? { queues: [...queues] } : any ? { queues: null } : {}),
    ...(isGiven('grantSlots') ? { slots } : any ? { slots: null } : {}),
    ...(ownCredentials === undefined ? {} : { ownCredentials }),
  };
}

function tell(answer: WorkerSettingView, out: Out): void {
  out.line(`${answer.name} may run:${unknownWords(answer)}`);
  for (const [bound, words] of grantRows(answer.grant ?? {}, { isThere: answer.workers > 0 }))
    out.line(`  ${out.paint('dim', bound.padEnd(9))} ${words}`);
}
