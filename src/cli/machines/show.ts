import { diagramOfMachine, findMachine, outlineOfMachine, problemsOf, refuseProblems } from '../../app/machines.ts';
import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { machineLines } from './machine-page.ts';

/** `leasehold machines show FILE|NAME`. */
export const show: Command = {
  name: 'machines show',
  doc: 'Draw a machine: its states, what each does, and where it leads',
  args: [{ name: 'FILE|NAME', doc: 'The machine: a file in YAML or JSON, or one that comes with leasehold' }],
  options: ['format', 'json'],
  examples: [
    { line: 'machines show order.yml', does: 'for a terminal' },
    { line: 'machines show order.yml --format mermaid', does: 'a diagram for Markdown, as Mermaid draws it' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(show, args);
    const [name] = words as [string];
    const out = outFor(config);
    const source = await findMachine(name);
    refuseProblems(name, await problemsOf(source));
    if (config.json || config.format === 'json') out.json(outlineOfMachine(source));
    else if (config.format === 'mermaid') out.line(diagramOfMachine(source).trimEnd());
    else for (const line of machineLines(outlineOfMachine(source), out.paint)) out.line(line);
    return EXIT.fine;
  },
};
