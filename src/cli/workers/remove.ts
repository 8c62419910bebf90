import { loadCall } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import type { Operator } from '../../operate/operator.ts';
import { outFor } from '../display/out.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { confirm } from '../kit/confirm.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME, workerNames } from './name.ts';

/** `leasehold workers remove NAME`. */
export const remove: Command = {
  name: 'workers remove',
  doc: 'Refuse a worker from now on, and forget the settings of its name',
  args: [NAME],
  options: ['dryRun', 'yes', ...OPERATOR_OPTIONS],
  examples: [
    {
      line: 'workers remove old-laptop',
      does: 'its name has to be typed; its secret ends, and its connection within a second',
    },
    {
      line: 'workers remove old-laptop --yes --json',
      does: 'without asking, and with the number of secrets that have ended',
    },
  ],

  run(args) {
    const { config, args: words } = loadCall(remove, args);
    const [name] = workerNames(words) as [string];
    return withOperator(config, (operator) => removeWorker(operator, name, config));
  },
};

async function removeWorker(operator: Operator, name: string, config: Config): Promise<number> {
  const out = outFor(config);
  const { processes } = await operator.call('getWorker', { params: { name } });
  const running = processes.reduce((sum, { currentTasks }) => sum + currentTasks.length, 0);
  const has =
    running === 0 ? 'no task' : `${running} task${running === 1 ? '' : 's'}, which others get when its leases expire`;
  if (config.dryRun) {
    if (out.mode === 'json') out.json({ name, running, removed: false });
    else out.line(`Would remove ${name}, which has ${has}. Nothing was changed.`);
    return EXIT.fine;
  }
  const ask = `Remove ${name}? Its secret ends and its settings are forgotten. It has ${has}.`;
  if (!(await confirm({ ask, word: name }, config))) {
    out.note('Nothing was changed.');
    return EXIT.failed;
  }
  const { secrets } = await operator.call('removeWorker', { params: { name }, by: actingUser(undefined) });
  if (out.mode === 'json') out.json({ name, secrets });
  else out.line(`${name} is removed${secrets === 0 ? '; it had no secret that was good' : ''}.`);
  return EXIT.fine;
}
