import { readSettings } from '../../app/settings/read-files.ts';
import { loadCall } from '../../config/load.ts';
import { fault } from '../../core/errors.ts';
import type { Operator } from '../../operate/operator.ts';
import { carryOut, type Plan, planSettings } from '../../operate/settings/plan.ts';
import { type Out, outFor } from '../display/out.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { confirm } from '../kit/confirm.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { countText, missingText, tellOutcome, tellPlan } from './words.ts';

/** `leasehold apply -f FILE`. */
export const apply: Command = {
  name: 'apply',
  doc: 'Make tags, limits, queues, workers, pools, workflows, schedules and triggers as a file says',
  args: [],
  options: ['settingsFile', 'prune', 'dryRun', 'yes', 'by', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'apply -f settings.yml', does: 'the difference is shown first, and is made after a question' },
    {
      line: 'apply -f settings/ --prune --yes',
      does: 'all files of a folder; what they do not name goes, of their kinds',
    },
    { line: 'apply -f concurrency_groups.json --dry-run', does: 'a file of dazflow; nothing is changed' },
  ],

  async run(args) {
    const { config } = loadCall(apply, args);
    const { settingsFile: file, prune, dryRun, yes, by } = config;
    if (file === undefined) {
      const hint = 'Give the settings: -f FILE, or a folder of files.';
      throw fault('INVALID_INPUT', { field: '--file', problem: 'it is missing' }, { hint });
    }
    const settings = await readSettings(file);
    const out = outFor(config);
    const work = async (operator: Operator): Promise<number> => {
      const plan = await planSettings(operator, settings, { prune });
      tellAll(plan, out);
      if (!dryRun && plan.steps.length > 0) {
        const ask = `${countText(plan)}.`;
        if (!(await confirm({ ask, word: 'apply' }, { yes }))) return EXIT.failed;
        const made = await make(operator, plan, actingUser(by), out);
        if (!made) return EXIT.failed;
      }
      await warn(operator, out);
      return EXIT.fine;
    };
    return withOperator(config, work, { create: !dryRun });
  },
};

function tellAll(plan: Plan, out: Out): void {
  if (out.mode === 'json') {
    for (const { kind, name, does, fields } of plan.steps) out.json({ plan: does, kind, name, fields });
    return;
  }
  tellPlan(plan, out);
  out.line(plan.steps.length === 0 ? `Nothing to change: ${countText(plan)}.` : `${countText(plan)}.`);
}

/** Whether all of it was made. */
async function make(operator: Operator, plan: Plan, by: string | undefined, out: Out): Promise<boolean> {
  let failed = 0;
  for await (const outcome of carryOut(operator, plan, by ?? '')) {
    const { step, told, error } = outcome;
    if (error !== undefined) failed += 1;
    if (out.mode === 'json') {
      const { kind, name, does } = step;
      out.json({ done: error === undefined, does, kind, name, ...told, ...(error === undefined ? {} : { error }) });
    } else tellOutcome(outcome, out);
  }
  if (failed > 0)
    out.note(
      `${failed} of ${plan.steps.length} could not be made; the others are. The same file may be applied again.`,
    );
  return failed === 0;
}

/** A typing error in a tag keeps tasks waiting for ever, and looks like a lack of workers. */
async function warn(operator: Operator, out: Out): Promise<void> {
  const { tags } = await operator.call('listTags');
  for (const tag of tags.filter(({ missing }) => missing)) {
    if (out.mode === 'json') out.json({ warning: missingText(tag), tag: tag.tag });
    else out.note(out.paint('yellow', `! ${missingText(tag)}`));
  }
}
