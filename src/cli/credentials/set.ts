import { loadCall } from '../../config/load.ts';
import { SHORTEST_HIDDEN } from '../../operate/credentials/view.ts';
import { outFor } from '../display/out.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { readValue } from './value.ts';
import { choiceOf, NAME, tell } from './words.ts';

/** `leasehold credentials set NAME`. */
export const set: Command = {
  name: 'credentials set',
  doc: 'Make a credential, or give it another value, which goes to all its holders',
  args: [NAME],
  options: [
    'credentialWorker',
    'credentialTag',
    'credentialLevel',
    'credentialFile',
    'credentialFields',
    'credentialType',
    'clusterSecretFile',
    ...OPERATOR_OPTIONS,
  ],
  examples: [
    { line: 'credentials set github --worker builder', does: 'asks for the value, and does not show it' },
    { line: 'credentials set github --file token.txt --tag ci', does: 'for all workers that were given the tag ci' },
    { line: `credentials set db --fields --level keyring`, does: 'a JSON object of the standard input' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(set, args);
    const [name] = words as [string];
    const value = await readValue(config, name);
    const body = { name, ...value, ...choiceOf(config) };
    const out = outFor(config);
    const put = await withOperator(
      config,
      (operator) => operator.call('setCredential', { body, by: actingUser(undefined) }),
      { seals: true },
    );
    if (out.mode === 'json') out.json(put);
    else tell(out, put);
    if (value.value !== undefined && value.value.length < SHORTEST_HIDDEN)
      out.note(`A value below ${SHORTEST_HIDDEN} characters is not hidden in logs and results.`);
    return EXIT.fine;
  },
};
