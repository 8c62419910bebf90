import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../errors.ts';
import { changedChoice, checkChoiceChange, isChosen, NOBODY } from './choice.ts';
import {
  afterAck,
  afterReport,
  afterTerms,
  HOLDING_STATUSES,
  type Holding,
  type HoldingStatus,
  isHeld,
  isPending,
} from './holding.ts';
import { type KnownLevel, refusalOf } from './level.ts';
import { MAX_CREDENTIAL_BYTES, readValue, textsOf } from './value.ts';

const at = (status: HoldingStatus, more: Partial<Holding> = {}): Holding => ({
  status,
  wanted: 1,
  acked: status === 'stored' ? 1 : undefined,
  level: 'file',
  error: undefined,
  ...more,
});
const V1 = { version: 1, level: undefined };
const V2 = { version: 2, level: undefined };
const STRICT = { version: 1, level: 'keyring' } as const;
const why = 'the worker keeps credentials by file, and keyring is demanded';

test('a level reaches a demand, and what is kept in memory reaches each', () => {
  const refused = (level: KnownLevel | undefined, demanded: 'file' | 'keyring' | 'systemd' | undefined) =>
    refusalOf(level, demanded) !== undefined;
  assert.equal(refused(undefined, 'systemd'), false);
  assert.equal(refused('unknown', undefined), false);
  for (const level of ['memory', 'systemd'] as const) assert.equal(refused(level, 'systemd'), false);
  assert.deepEqual([refused('keyring', 'keyring'), refused('keyring', 'systemd')], [false, true]);
  assert.deepEqual([refused('file', 'file'), refused('unknown', 'file')], [false, true]);
  assert.equal(refusalOf('file', 'keyring'), why);
  assert.equal(refusalOf('unknown', 'file'), 'the worker does not say how it keeps credentials, and file is demanded');
});

test('a choice is edited by name and by tag, and who is in both lists is taken away', () => {
  const one = changedChoice(NOBODY, { addWorkers: ['b', 'a', 'b'], addTags: ['gpu'] });
  assert.deepEqual(one, { workers: ['a', 'b'], tags: ['gpu'] });
  const two = changedChoice(one, { addWorkers: ['c'], removeWorkers: ['a', 'c'], removeTags: ['gpu'] });
  assert.deepEqual(two, { workers: ['b'], tags: [] });
  assert.deepEqual(
    [isChosen(one, 'a', []), isChosen(one, 'x', ['gpu']), isChosen(one, 'x', ['eu'])],
    [true, true, false],
  );
  const many = Array.from({ length: 1001 }, (_, i) => `w${i}`);
  assert.throws(() => changedChoice(NOBODY, { addWorkers: many }), /at most 1000/);
  assert.deepEqual(checkChoiceChange({ addTags: ['x'] }).addTags, ['x']);
  assert.throws(() => checkChoiceChange({ addWorkers: ['a b'] }), /workers/);
  assert.throws(() => checkChoiceChange({ removeTags: [''] }), /tags/);
});

test('who is not chosen any more is told to remove what it may hold', () => {
  assert.equal(afterTerms(undefined, undefined), undefined);
  for (const status of HOLDING_STATUSES) {
    const after = afterTerms(at(status), undefined);
    const holds = status === 'wanted' || status === 'stored' || status === 'failed';
    assert.deepEqual(
      [after?.status, after?.acked],
      holds ? ['removing', undefined] : [status, at(status).acked],
      status,
    );
  }
});

test('who is chosen is to have the version: what failed or was removed begins again', () => {
  assert.deepEqual(afterTerms(undefined, V1), at('wanted', { level: undefined }));
  for (const status of HOLDING_STATUSES) {
    const after = afterTerms(at(status), V2) as Holding;
    const stays = status === 'stored';
    assert.deepEqual(
      [after.status, after.wanted, after.acked],
      [stays ? 'stored' : 'wanted', 2, stays ? 1 : undefined],
      status,
    );
    assert.equal(isPending(after), true);
  }
  assert.deepEqual([isPending(at('stored')), isPending(at('failed')), isPending(at('removed'))], [false, false, false]);
  assert.equal(isPending(at('removing')), true);
});

test('who keeps it too openly is refused with the reason, and what it may hold is taken back', () => {
  for (const status of HOLDING_STATUSES) {
    const after = afterTerms(at(status), STRICT) as Holding;
    const going = ['wanted', 'stored', 'removing'].includes(status);
    assert.deepEqual([after.status, after.error], [going ? 'removing' : 'failed', why], status);
  }
});

test('an acknowledgement counts for the order that stands', () => {
  const stored = { version: 1, status: 'stored', level: 'file' } as const;
  const open = at('wanted', { level: undefined });
  assert.deepEqual(afterAck(open, stored, V1), at('stored'));
  assert.equal(afterAck(open, { version: 2, status: 'stored' }, V1), undefined);
  assert.equal(afterAck(open, { version: 1, status: 'removed' }, V1), undefined);
  const failed = afterAck(at('stored', { wanted: 2 }), { version: 2, status: 'failed', error: 'full' }, V2);
  assert.deepEqual(failed, at('failed', { wanted: 2, error: 'full' }));
  assert.equal(afterAck(open, { version: 1, status: 'failed' }, V1)?.error, 'the worker does not say why');
  for (const status of ['removed', 'failed', 'told'] as const)
    assert.equal(afterAck(at(status), stored, V1), undefined);
  const removing = at('removing');
  assert.equal(afterAck(removing, stored, undefined), undefined);
  assert.deepEqual(afterAck(removing, { version: 9, status: 'removed' }, undefined), at('removed'));
  assert.deepEqual(afterAck(removing, { version: 1, status: 'removed' }, STRICT), at('failed', { error: why }));
  assert.deepEqual(
    afterAck(removing, { version: 1, status: 'failed', error: 'disk' }, undefined),
    at('removing', { error: 'disk' }),
  );
});

test('a label is carried by what was acknowledged, and by what is told where that counts', () => {
  assert.deepEqual(
    HOLDING_STATUSES.filter((status) => isHeld(at(status), false)),
    ['stored'],
  );
  assert.deepEqual(
    HOLDING_STATUSES.filter((status) => isHeld(at(status), true)),
    ['stored', 'told'],
  );
});

test('what a worker says when it comes is believed over what was known', () => {
  const said = (holds: Readonly<Record<string, number | undefined>>, level: KnownLevel = 'file') => ({
    level,
    holds: new Map(Object.entries(holds)),
    tells: level === 'unknown',
  });
  const one = (
    before: Holding,
    terms: typeof V1 | typeof STRICT | undefined,
    what: ReturnType<typeof said> | undefined,
  ) => afterReport(new Map([['db', before]]), () => terms, what).get('db');
  assert.deepEqual(one(at('wanted'), V1, said({ db: 1 })), at('stored'));
  assert.deepEqual(one(at('stored'), V1, said({})), at('wanted'));
  assert.deepEqual(one(at('stored'), V1, said({ db: 7 })), at('wanted'));
  assert.deepEqual(one(at('stored', { wanted: 2 }), V2, said({ db: 1 })), at('stored', { wanted: 2 }));
  assert.deepEqual(one(at('removing', { error: 'disk' }), undefined, said({ db: 1 })), at('removing'));
  assert.deepEqual(one(at('removing'), undefined, said({})), at('removed'));
  assert.deepEqual(one(at('removed'), undefined, said({ db: 1 })), at('removing'));
  assert.deepEqual(one(at('wanted'), STRICT, said({})), at('failed', { error: why }));
  assert.deepEqual(one(at('failed', { error: why }), STRICT, said({}, 'systemd')), at('wanted', { level: 'systemd' }));
  assert.equal(one(at('told'), undefined, said({ db: 1 })), undefined);
  // An agent names what it has, without a version.
  assert.deepEqual(one(at('stored'), V1, said({ db: undefined }, 'unknown')), at('stored', { level: 'unknown' }));
  assert.deepEqual(one(at('stored'), V1, said({}, 'unknown')), at('wanted', { level: 'unknown' }));
  const none = { acked: undefined, level: undefined };
  const noPlace = 'the worker takes no credentials';
  assert.deepEqual(one(at('stored'), V1, undefined), at('failed', { ...none, error: noPlace }));
  assert.deepEqual(one(at('removing'), undefined, undefined), at('removed', none));
});

test('an agent tells what it has by itself, and what it does not name any more is forgotten', () => {
  const told = at('told', { wanted: 0, level: 'unknown' });
  const agent = { level: 'unknown', holds: new Map([['own', undefined]]), tells: true } as const;
  assert.deepEqual(
    [...afterReport(new Map([['old', told]]), () => undefined, agent)],
    [
      ['old', undefined],
      ['own', told],
    ],
  );
  assert.deepEqual([...afterReport(new Map([['own', told]]), () => undefined, agent)], []);
  assert.deepEqual([...afterReport(new Map(), () => undefined, { ...agent, level: 'file', tells: false })], []);
});

test('a value is a text or an object of texts, within its bounds', () => {
  assert.deepEqual(readValue('{"value":"a","more":1}'), { value: 'a' });
  const fields = { type: 'login', fields: { user: 'u', password: 'p' } };
  assert.deepEqual(readValue(JSON.stringify(fields)), fields);
  assert.deepEqual([textsOf({ value: 'a' }), textsOf(fields)], [['a'], ['u', 'p']]);
  const long = 'x'.repeat(MAX_CREDENTIAL_BYTES + 1);
  for (const wrong of [
    'hunter2',
    '[]',
    'null',
    '{}',
    '{"value":""}',
    '{"type":"","fields":{"a":"b"}}',
    '{"type":"t","fields":[]}',
    '{"type":"t","fields":{}}',
    '{"type":"t","fields":{"a":1}}',
    '{"type":"t","fields":{"__proto__":"b"}}',
    JSON.stringify({ value: long }),
    ' '.repeat(8 * MAX_CREDENTIAL_BYTES),
  ]) {
    assert.throws(
      () => readValue(wrong),
      (error) => isEngineError(error, 'INVALID_INPUT') && !error.message.includes('hunter2'),
      wrong.slice(0, 40),
    );
  }
});
