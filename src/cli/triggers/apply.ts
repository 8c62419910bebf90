import { readRegistryFile } from '../../app/triggers/registry-file.ts';
import { loadCall } from '../../config/load.ts';
import { fault } from '../../core/errors.ts';
import type { Operator } from '../../operate/operator.ts';
import type { Registry } from '../../operate/triggers/registry.ts';
import type { PutTriggerView } from '../../operate/views.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { actionText, sourceText, tellSecret } from './words.ts';

/** `leasehold triggers apply -f FILE`. */
export const apply: Command = {
  name: 'triggers apply',
  doc: 'Make or replace all triggers of a file, such as a trigger_registry.yml',
  args: [],
  options: ['workflowFile', 'dryRun', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'triggers apply -f trigger_registry.yml', does: 'a file of FlatMachines, as it stands' },
    { line: 'triggers apply -f triggers.yml --dry-run', does: 'only says what would be made, and all that is wrong' },
  ],

  async run(args) {
    const { config } = loadCall(apply, args);
    const { workflowFile: file, dryRun } = config;
    if (file === undefined) {
      const hint = 'Give the triggers: -f FILE.';
      throw fault('INVALID_INPUT', { field: '--file', problem: 'it is missing' }, { hint });
    }
    const registry = await readRegistryFile(file);
    const out = outFor(config);
    const { triggers, schedules } = registry;
    if (dryRun) {
      for (const { name, kind } of triggers) out.line(`Would set the trigger ${name}: ${kind}.`);
      for (const { name, cron } of schedules) out.line(`Would set the schedule ${name}: ${cron}.`);
      return EXIT.fine;
    }
    await withOperator(
      config,
      (operator) =>
        putAll(operator, registry, (put) => {
          if (out.mode === 'json') return out.json(put);
          if (!('kind' in put)) return out.line(`Set the schedule ${put.name}.`);
          out.line(`Set the trigger ${put.name}: ${sourceText(put)}; ${actionText(put)}.`);
          tellSecret(out, put);
        }),
      { create: true },
    );
    return EXIT.fine;
  },
};

type Put = PutTriggerView | { readonly name: string };

/** One after the other: what was put stays, and the same file may be applied again. */
async function putAll(operator: Operator, { triggers, schedules }: Registry, told: (put: Put) => void): Promise<void> {
  for (const body of schedules) {
    const { name } = await operator.call('putSchedule', { body });
    told({ name });
  }
  for (const body of triggers) told(await operator.call('putTrigger', { body }));
}
