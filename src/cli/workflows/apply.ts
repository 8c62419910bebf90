import { graphIn, readGraphFile } from '../../app/graphs/graph-file.ts';
import { loadCall } from '../../config/load.ts';
import { fault } from '../../core/errors.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { standText, tellChanges } from './words.ts';

/** `leasehold workflows apply -f FILE [NAME]`. */
export const apply: Command = {
  name: 'workflows apply',
  doc: 'Store a workflow, or a new version of the one of its name, and say what changes',
  args: [{ name: 'NAME', doc: 'What it is stored as; default: the name of the file', optional: true }],
  options: ['workflowFile', 'expected', 'dryRun', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'workflows apply -f nightly.json', does: 'stored as nightly; from now on its triggers start runs' },
    { line: 'workflows apply -f nightly.json --dry-run', does: 'only says what would change' },
    { line: 'workflows apply -f nightly.json --expect 3', does: 'refused when somebody has made version 4 meanwhile' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(apply, args);
    const { workflowFile: file, expected, dryRun } = config;
    if (file === undefined) {
      throw fault(
        'INVALID_INPUT',
        { field: '--file', problem: 'it is missing' },
        { hint: 'Give the workflow: -f FILE.' },
      );
    }
    const out = outFor(config);
    const read = await readGraphFile(file);
    graphIn(file, read);
    const [name = nameOf(file)] = words;
    const body = { name, workflow: read.value, dryRun, ...(expected === undefined ? {} : { expected }) };
    const applied = await withOperator(config, (operator) => operator.call('applyWorkflow', { body }), {
      create: !dryRun,
    });
    if (out.mode === 'json') {
      out.json(applied);
      return EXIT.fine;
    }
    tellChanges(out, applied);
    const { fresh, version } = applied;
    const stand = standText(applied, Date.now());
    if (!fresh) out.line(`${name} has not changed: version ${version}, ${stand}.`);
    else
      out.line(dryRun ? `Would store ${name}, version ${version}.` : `Stored ${name}, version ${version}: ${stand}.`);
    return EXIT.fine;
  },
};

const nameOf = (file: string): string =>
  file
    .replace(/^.*[\\/]/, '')
    .replace(/\.(json|ya?ml)$/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-');
