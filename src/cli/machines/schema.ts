import { machineSchema } from '../../app/machines.ts';
import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { safeJson } from '../display/safe.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';

/** `leasehold machines schema`. */
export const schema: Command = {
  name: 'machines schema',
  doc: 'Print the JSON Schema of machines, for an editor that completes and checks them',
  options: ['json'],
  examples: [
    { line: 'machines schema > flatmachine.schema.json', does: 'name it in the settings of your editor' },
    { line: 'machines schema --json', does: 'in one line' },
  ],

  run(args) {
    const { config } = loadCall(schema, args);
    const out = outFor(config);
    if (out.mode === 'json') out.json(machineSchema);
    else out.line(safeJson(machineSchema, 2));
    return Promise.resolve(EXIT.fine);
  },
};
