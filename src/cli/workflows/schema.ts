import { graphSchema } from '../../app/graphs/graph-file.ts';
import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { safeJson } from '../display/safe.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';

/** `leasehold workflows schema`. */
export const schema: Command = {
  name: 'workflows schema',
  doc: 'Print the JSON Schema of workflows, for an editor that completes and checks them',
  options: ['json'],
  examples: [
    { line: 'workflows schema > workflow.schema.json', does: 'name it in the settings of your editor' },
    { line: 'workflows schema --json', does: 'in one line' },
  ],

  run(args) {
    const { config } = loadCall(schema, args);
    const out = outFor(config);
    if (out.mode === 'json') out.json(graphSchema);
    else out.line(safeJson(graphSchema, 2));
    return Promise.resolve(EXIT.fine);
  },
};
