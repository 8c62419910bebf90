import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EngineError } from '../errors.ts';
import { normalizeLimit } from './limit.ts';
import { type EditTerms, editLimit, type LimitEdit } from './limit-edit.ts';

const RATE = { max: 20, window: '1m' } as const;
const kept = (limit: Parameters<typeof normalizeLimit>[0], revision = 3) => ({
  limit: normalizeLimit(limit),
  revision,
});

test('an edit changes the given fields, null removes a bound, and the rest stays', () => {
  const before = kept({ concurrent: 4, perKey: 2, rate: RATE, strategy: 'refuse', backlog: 9 });
  assert.deepEqual(
    editLimit('api', before, { concurrent: 8, perKey: null, backlog: undefined }),
    normalizeLimit({ concurrent: 8, rate: RATE, strategy: 'refuse', backlog: 9 }),
  );
  assert.deepEqual(
    editLimit('api', before, { rate: null, strategy: 'queue' }),
    normalizeLimit({ concurrent: 4, perKey: 2, backlog: 9 }),
  );
});

test('a limit that does not exist is made from the edit alone', () => {
  const edit = { concurrent: 1, perKey: null, cost: { ...RATE, perKey: true } };
  assert.deepEqual(
    editLimit('api', undefined, edit),
    normalizeLimit({ concurrent: 1, cost: { ...RATE, perKey: true } }),
  );
});

test('an edit that changes nothing is not written', () => {
  const before = kept({ concurrent: 4, rate: RATE });
  const edits: LimitEdit[] = [
    {},
    { concurrent: 4 },
    { rate: { burst: 2 } },
    { rate: { window: 60_000 } },
    { cost: null },
  ];
  for (const edit of edits) assert.equal(editLimit('api', before, edit), undefined, JSON.stringify(edit));
});

test('one field of a rate can be changed alone; a burst that nobody chose follows from it', () => {
  const rate = (edit: LimitEdit['rate'], before: object = RATE) =>
    editLimit('api', kept({ rate: before as typeof RATE }), { rate: edit })?.rate;
  assert.deepEqual(rate({ max: 50 }), { max: 50, windowMs: 60_000, burst: 5, perKey: false });
  assert.deepEqual(rate({ perKey: true }), { max: 20, windowMs: 60_000, burst: 2, perKey: true });
  assert.deepEqual(rate({ max: 50, burst: undefined }, { ...RATE, burst: 7, perKey: true }), {
    max: 50,
    windowMs: 60_000,
    burst: 7,
    perKey: true,
  });
});

test('an edit that does not fit the limit is refused', () => {
  const refused = (before: Parameters<typeof editLimit>[1], edit: LimitEdit, field: string, problem: RegExp): void =>
    assert.throws(
      () => editLimit('api', before, edit),
      (error: EngineError) => {
        assert.deepEqual([error.code, error.details?.['field']], ['INVALID_INPUT', field]);
        assert.match(error.message, problem);
        return true;
      },
    );
  refused(kept({ rate: { ...RATE, burst: 15 } }), { rate: { max: 10 } }, 'limit.rate.burst', /15 is more than max/);
  refused(kept({ concurrent: 1 }), { rate: { burst: 5 } }, 'limit.rate.burst', /no rate that it could change/);
  refused(undefined, { cost: { perKey: true } }, 'limit.cost.perKey', /no cost that it could change/);
  refused(undefined, { rate: { max: 5 } }, 'limit.rate', /give max and window too/);
  refused(kept({}), { concurent: 5 } as LimitEdit, 'limit', /"concurent" is not one of its keys/);
});

test('an edit holds only under its conditions', () => {
  const code = (of: Parameters<typeof editLimit>[1], terms: EditTerms): string => {
    try {
      return String(editLimit('api', of, { concurrent: 5 }, terms)?.concurrent);
    } catch (error) {
      assert.ok(error instanceof EngineError);
      return error.code;
    }
  };
  const before = kept({ concurrent: 4 }, 3);
  assert.equal(code(before, { must: 'there', ifRevision: 3 }), '5');
  assert.equal(code(before, { ifRevision: 2 }), 'CONFLICT');
  assert.equal(code(before, { must: 'new' }), 'CONFLICT');
  assert.equal(code(undefined, { must: 'new' }), '5');
  assert.equal(code(undefined, {}), '5');
  assert.equal(code(undefined, { must: 'there' }), 'NOT_FOUND');
  assert.equal(code(undefined, { ifRevision: 0 }), 'NOT_FOUND');
});
