import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { type Claimed, requireGiven } from './given-to-name.ts';
import type { WorkerSetting } from './worker-settings.ts';

const CLAIMED: Claimed = { tags: [], handlers: ['echo'], slots: 4 };
const GIVEN: WorkerSetting = { enabled: true, priority: undefined, tags: [], grant: {} };

function refused(claimed: Partial<Claimed>, given: Partial<WorkerSetting>, says: RegExp, command: string): void {
  assert.throws(
    () => requireGiven('box', { ...CLAIMED, ...claimed }, { ...GIVEN, ...given }),
    (error) => {
      assert.ok(isEngineError(error, 'FORBIDDEN'), String(error));
      assert.match(error.message, says);
      assert.ok(error.hint?.startsWith(`"leasehold workers ${command}" gives`), error.hint);
      return true;
    },
  );
}

const taken = (claimed: Partial<Claimed>, given: Partial<WorkerSetting> = {}): void =>
  requireGiven('box', { ...CLAIMED, ...claimed }, { ...GIVEN, ...given });

test('a name that was granted nothing may offer any handler, serve all queues and have 1000 slots', () => {
  taken({ handlers: ['a', 'shell'], queues: ['q'], slots: 1000 });
  refused({ slots: 1001 }, {}, /1001 slots \(it has 1000\) were not given/, 'grant box --slots 1001');
});

test('a worker may have less than its name was given, never more', () => {
  const grant = { handlers: ['echo', 'render'], queues: ['media', 'side'], slots: 4 };
  taken({ handlers: [], queues: ['media'], slots: 1 }, { grant });
  taken({ handlers: ['render', 'echo'], slots: 4 }, { grant });
  refused({ slots: 5 }, { grant }, /5 slots \(it has 4\)/, 'grant box --slots 5');
  refused({ queues: ['x'] }, { grant }, /the queue x was not/, 'grant box --queue media --queue side --queue x');
  refused({ tags: ['gpu'] }, { tags: ['eu'] }, /the tag gpu was not given/, 'tag box --add gpu');
});

test('the command of a refusal grants what is missing and keeps what was granted, as words of a shell', () => {
  refused(
    { handlers: ['echo', 'http', 'render'] },
    { grant: { handlers: ['render'] } },
    /the handlers echo, http were not given to the worker box/,
    'grant box --handler render --handler echo --handler http',
  );
  refused({ tags: ['a b', '$(x)'] }, {}, /the tags a b, \$\(x\) were not/, "tag box --add 'a b' --add '$(x)'");
  const many = Array.from({ length: 20 }, (_, n) => `h${n}`);
  refused(
    { handlers: many },
    { grant: { handlers: [] } },
    /h11 and 8 more were not given/,
    `grant box ${many
      .slice(0, 12)
      .map((one) => `--handler ${one}`)
      .join(' ')} …`,
  );
});

test('a priority above that of others is given, and a lower one is taken', () => {
  taken({ priority: 0 });
  taken({ priority: -5 });
  taken({ priority: 9 }, { priority: 1 });
  refused({ priority: 9 }, {}, /the priority 9 was not given/, 'priority box 9');
});
