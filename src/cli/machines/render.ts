import { evaluateExpression } from '../../app/expressions.ts';
import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { safeText } from '../display/safe.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';

/** `leasehold render TEMPLATE`. */
export const render: Command = {
  name: 'render',
  doc: 'Print the text of a template',
  args: [{ name: 'TEMPLATE', doc: 'The template; in quotes for the shell' }],
  options: ['context', 'json'],
  examples: [
    { line: `render 'Hello {{ input.name }}' --context '{"input": {"name": "Ann"}}'`, does: 'Hello Ann' },
    { line: `render '{{ [1, 2] | sum }}' --json`, does: 'the value as JSON' },
  ],

  run(args) {
    const { config, args: words } = loadCall(render, args);
    const [template] = words as [string];
    const out = outFor(config);
    const value = evaluateExpression(template, 'template', config.context);
    if (typeof value === 'string' && out.mode !== 'json') out.line(out.mode === 'screen' ? safeText(value) : value);
    else out.json(value);
    return Promise.resolve(EXIT.fine);
  },
};
