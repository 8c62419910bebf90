import { loadCall } from '../../config/load.ts';
import type { TriggerRequest } from '../../operate/triggers/registry.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { parseInline } from '../tasks/push-inputs.ts';
import { actionText, sourceText, tellSecret } from './words.ts';

/** `leasehold triggers set NAME JSON`. */
export const set: Command = {
  name: 'triggers set',
  doc: 'Create a trigger, or replace the one of that name',
  args: [
    { name: 'NAME', doc: 'The trigger; created if it does not exist' },
    { name: 'JSON', doc: 'What it listens to and what it does' },
  ],
  options: OPERATOR_OPTIONS,
  examples: [
    {
      line: `triggers set paid '{"kind": "webhook", "push": {"queue": "orders"}}'`,
      does: 'a webhook; its secret is shown once',
    },
    {
      line: `triggers set on-fail '{"kind": "event", "on": "task_finished", "states": ["failed"], "push": {"queue": "alerts"}}'`,
      does: 'a task for each task that fails',
    },
    {
      line: `triggers set papers '{"kind": "file", "folder": "/srv/papers", "match": "*.pdf", "run": {"workflow": "ingest"}}'`,
      does: 'a run for each new file, where a node was started with --trigger-root /srv',
    },
  ],

  async run(args) {
    const { config, args: words } = loadCall(set, args);
    const [name, text] = words as [string, string];
    const hint = `Quote it for the shell: leasehold triggers set NAME '{"kind": "manual", "push": {"queue": "mail"}}'.`;
    const given = parseInline(text, hint);
    const body = { ...(given as object), name } as TriggerRequest;
    const out = outFor(config);
    const put = await withOperator(config, (operator) => operator.call('putTrigger', { body }), { create: true });
    if (out.mode === 'json') out.json(put);
    else {
      out.line(`Set ${name}: ${sourceText(put)}; ${actionText(put)}${put.enabled ? '' : '; it is off'}.`);
      tellSecret(out, put);
    }
    return EXIT.fine;
  },
};
