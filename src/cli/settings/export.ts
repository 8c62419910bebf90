import { settingsText, settingsValue, writeJsonFiles, writeWhole } from '../../app/settings/write-files.ts';
import { loadCall } from '../../config/load.ts';
import { fault } from '../../core/errors.ts';
import type { Operator } from '../../operate/operator.ts';
import { dazflowFiles } from '../../operate/settings/dazflow.ts';
import { type SettingsWord, settingsOfAll } from '../../operate/settings/plan.ts';
import { type Out, outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';

/** `leasehold export`. */
export const exportSettings: Command = {
  name: 'export',
  doc: 'Print all settings as a file that "apply" takes; no secret is in it',
  args: [],
  options: ['settingsKind', 'settingsOut', 'asDazflow', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'export > settings.yml', does: 'applied again it changes nothing' },
    { line: 'export --kind limits --kind tags --out limits.json', does: 'only these kinds, as JSON' },
    { line: 'export --dazflow --out data', does: 'agents.json, tags.json and concurrency_groups.json' },
  ],

  async run(args) {
    const { config } = loadCall(exportSettings, args);
    const { settingsKind: kinds, settingsOut: place, asDazflow } = config;
    const out = outFor(config);
    if (asDazflow && place === undefined) {
      const hint = 'Name the folder: --out DIR.';
      throw fault('INVALID_INPUT', { field: '--dazflow', problem: 'it writes three files' }, { hint });
    }
    await withOperator(config, (operator) =>
      asDazflow ? writeDazflow(operator, place as string, out) : write(operator, kinds, place, out),
    );
    return EXIT.fine;
  },
};

async function write(
  operator: Operator,
  kinds: readonly SettingsWord[],
  place: string | undefined,
  out: Out,
): Promise<void> {
  const found = await settingsOfAll(operator, kinds);
  if (place !== undefined) {
    await writeWhole(place, settingsText(found, place.endsWith('.json') ? 'json' : 'yaml'));
    if (out.mode === 'json') out.json({ file: place });
    else out.line(`Wrote ${place}.`);
  } else if (out.mode === 'json') out.json(settingsValue(found));
  else process.stdout.write(settingsText(found, 'yaml'));
}

async function writeDazflow(operator: Operator, folder: string, out: Out): Promise<void> {
  const found = await settingsOfAll(operator, ['tags', 'limits', 'workers']);
  const { workers } = await operator.call('listWorkers');
  const of = (word: SettingsWord) => found.get(word) ?? new Map();
  const files = dazflowFiles(workers, { tags: of('tags'), limits: of('limits'), workers: of('workers') });
  for (const file of await writeJsonFiles(folder, files)) {
    if (out.mode === 'json') out.json({ file });
    else out.line(`Wrote ${file}.`);
  }
}
