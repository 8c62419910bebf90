import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { formatWhen } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';

/** `leasehold schedules resume NAME`. */
export const resume: Command = {
  name: 'schedules resume',
  doc: 'Let a paused schedule go on with its first fire time from now on',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'schedules resume nightly', does: 'it tells when it fires next' },
    { line: 'schedules resume nightly --server http://node:7420', does: 'on a node, over HTTP' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(resume, args);
    const [name] = words as [string];
    const out = outFor(config);
    const answer = await withOperator(config, (operator) => operator.call('resumeSchedule', { params: { name } }));
    if (out.mode === 'json') out.json(answer);
    else
      out.line(
        `Resumed ${name}: ${answer.nextAt === undefined ? `it is ${answer.state}` : `next ${formatWhen(answer.nextAt, Date.now())}`}.`,
      );
    return EXIT.fine;
  },
};
