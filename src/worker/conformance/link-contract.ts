import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ARTIFACTS } from './artifacts.ts';
import { CANCELLING } from './cancelling.ts';
import { CLAIMING } from './claiming.ts';
import { CREDENTIALS } from './credentials.ts';
import { FAMILIES } from './families.ts';
import { FENCING } from './fencing.ts';
import { LOGGING } from './logging.ts';
import { OPENING } from './opening.ts';
import { POOLING } from './pooling.ts';
import { REMEMBERING } from './remembering.ts';
import { RENEWING } from './renewing.ts';
import { REUSING } from './reusing.ts';
import { LinkScene, type LinkSetting, type LinkTopic } from './scene.ts';
import { SETTLING } from './settling.ts';
import { STORING } from './storing.ts';
import { TURNS } from './turns.ts';

export interface LinkContractOptions {
  /** The name of the link in the report. */
  readonly name: string;
  readonly open: () => Promise<LinkSetting>;
  /** Cases that this link cannot pass, by their names, each with the reason. */
  readonly skip?: Readonly<Record<string, string>>;
  /** Only these topics; default all but those of credentials and artifacts, which need a setting that has some. */
  readonly topics?: readonly string[];
}

export const LINK_TOPICS: readonly LinkTopic[] = [
  OPENING,
  POOLING,
  CLAIMING,
  SETTLING,
  STORING,
  FENCING,
  RENEWING,
  CANCELLING,
  LOGGING,
  REMEMBERING,
  FAMILIES,
  TURNS,
  REUSING,
  CREDENTIALS,
  ARTIFACTS,
];

/** They need more of a setting. */
const BY_NAME: ReadonlySet<string> = new Set([CREDENTIALS.name, ARTIFACTS.name]);

/** A case that hangs fails after this time. */
const TIMEOUT_MS = 20_000;

/** Registers the whole contract with `node:test`: one suite per topic, one test per guarantee, each in a new setting. */
export function linkContract(options: LinkContractOptions): void {
  checkOptions(options);
  describe(`link contract: ${options.name}`, () => {
    for (const { name: topic, cases } of LINK_TOPICS) {
      if (!(options.topics?.includes(topic) ?? !BY_NAME.has(topic))) continue;
      describe(topic, () => {
        for (const [sentence, run] of Object.entries(cases)) {
          test(sentence, { skip: options.skip?.[sentence] ?? false, timeout: TIMEOUT_MS }, async () => {
            const setting = await options.open();
            const scene = new LinkScene(setting);
            try {
              await run(scene);
              await scene.close();
            } finally {
              await setting.close();
            }
          });
        }
      });
    }
  });
}

/** A skip of an unknown case, or without a reason, would hide a gap. */
function checkOptions({ skip = {}, topics = [] }: LinkContractOptions): void {
  const known = new Set(LINK_TOPICS.flatMap(({ cases }) => Object.keys(cases)));
  for (const [sentence, reason] of Object.entries(skip)) {
    assert.ok(known.has(sentence), `the contract has no case "${sentence}" to skip`);
    assert.ok(reason.trim() !== '', `the skip of "${sentence}" has no reason`);
  }
  for (const topic of topics) {
    assert.ok(
      LINK_TOPICS.some(({ name }) => name === topic),
      `the contract has no topic "${topic}"`,
    );
  }
}
