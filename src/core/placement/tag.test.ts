import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../errors.ts';
import { parseTest, passes, readTag } from './tag.ts';

const holds = (wanted: string, ...tags: readonly string[]): boolean =>
  passes(parseTest('requires', wanted), tags.map(readTag));

function refusal(text: unknown): string {
  try {
    parseTest('placement.requires', text);
  } catch (error) {
    assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
    assert.equal(error.details?.field, 'placement.requires');
    return error.message;
  }
  return assert.fail(`${JSON.stringify(text)} was accepted`);
}

test('a tag is a name, or a name with a value after the first "="', () => {
  assert.deepEqual(readTag('gpu'), { key: 'gpu', value: undefined });
  assert.deepEqual(readTag('gpu=nvidia'), { key: 'gpu', value: 'nvidia' });
  assert.deepEqual(readTag('path=a=b'), { key: 'path', value: 'a=b' });
  assert.deepEqual(readTag('gpu='), { key: 'gpu', value: '' });
  assert.deepEqual(readTag(''), { key: '', value: undefined });
});

test('a test is a name, or a name with an operator and a value', () => {
  assert.deepEqual(parseTest('t', 'gpu'), { key: 'gpu', op: undefined, value: '' });
  assert.deepEqual(parseTest('t', 'credential:GITHUB'), { key: 'credential:GITHUB', op: undefined, value: '' });
  for (const op of ['=', '!=', '>=', '<=', '>', '<'] as const) {
    assert.deepEqual(parseTest('t', `memory_gb${op}16`), { key: 'memory_gb', op, value: '16' });
  }
  assert.deepEqual(parseTest('t', 'os=Mac OS é'), { key: 'os', op: '=', value: 'Mac OS é' });
  assert.equal(parseTest('t', `a${'b'.repeat(199)}`).key.length, 200);
});

test('a name alone asks for the tag with any value or none', () => {
  assert.ok(holds('gpu', 'gpu'));
  assert.ok(holds('gpu', 'gpu=nvidia'));
  assert.ok(!holds('gpu', 'gpus', 'GPU', 'cpu=gpu'));
  assert.ok(!holds('gpu'));
});

test('"=" asks for exactly the value, which one of several tags of the name may have', () => {
  assert.ok(holds('gpu=nvidia', 'gpu=nvidia'));
  assert.ok(holds('gpu=nvidia', 'gpu=amd', 'gpu=nvidia'));
  assert.ok(!holds('gpu=nvidia', 'gpu=amd'));
  assert.ok(!holds('gpu=nvidia', 'gpu', 'nvidia'));
  assert.ok(!holds('cores=8', 'cores=8.0'), 'a value is a text');
});

test('"!=" asks for a tag of the name that never has the value', () => {
  assert.ok(holds('gpu!=amd', 'gpu=nvidia'));
  assert.ok(holds('gpu!=amd', 'gpu'));
  assert.ok(!holds('gpu!=amd', 'gpu=amd'));
  assert.ok(!holds('gpu!=amd', 'gpu=nvidia', 'gpu=amd'));
  assert.ok(!holds('gpu!=amd'), 'a worker without a GPU has none that is not of AMD');
});

test('ordering operators compare numbers, and a value that is no number never passes', () => {
  const passing = (wanted: string): readonly string[] =>
    ['-2', '8', '16', '16.0', '16.5', '128'].filter((value) => holds(wanted, `memory_gb=${value}`));
  assert.deepEqual(passing('memory_gb>=16'), ['16', '16.0', '16.5', '128']);
  assert.deepEqual(passing('memory_gb>16'), ['16.5', '128']);
  assert.deepEqual(passing('memory_gb<=16'), ['-2', '8', '16', '16.0']);
  assert.deepEqual(passing('memory_gb<16'), ['-2', '8']);
  assert.deepEqual(passing('memory_gb<-1.5'), ['-2']);
  for (const tag of ['memory_gb', 'memory_gb=', 'memory_gb=much', 'memory_gb=1e3', 'memory_gb=0x20', 'memory_gb= 32']) {
    assert.ok(!holds('memory_gb>=0', tag), tag);
  }
  assert.ok(holds('memory_gb>=16', 'memory_gb=much', 'memory_gb=8', 'memory_gb=32'));
});

test('a wrong test is refused with its text and the rule', () => {
  for (const text of ['', ' gpu', 'gpu ', '=nvidia', '-gpu', 'g p u', 'gpü', 'gpu!', '!gpu', 'gpu\n', '>=16']) {
    assert.match(refusal(text), /its name has only A-Z/, JSON.stringify(text));
  }
  for (const text of ['gpu=', 'gpu!=', 'memory_gb>=', 'a==b', 'a=>1', 'a<>b', 'a=b=c', 'a=b!', 'a=b\nc', 'a=\u0000']) {
    assert.match(refusal(text), /its value is empty, or has/, JSON.stringify(text));
  }
  for (const text of ['a>b', 'a>=1e3', 'a<=.5', 'a<1.', 'a> 1', 'a>+1', 'a>=١']) {
    assert.match(refusal(text), /compares numbers/, text);
  }
  assert.match(refusal('gpu=no\n!'), /"gpu=no\\n!" is not a test of tags/);
});

test('a test that is no text, too long or has half a character is refused and not shown at length', () => {
  for (const text of [undefined, null, 16, ['gpu'], {}]) assert.match(refusal(text), /a value of type/);
  assert.match(refusal('a'.repeat(201)), /at most 200 characters/);
  assert.match(refusal('a=\ud800'), /a text of at most/);
  assert.ok(refusal('x'.repeat(100_000)).length < 300);
});
