import { KEEP_POLICIES, PUBLISH_WAYS, readWorkspaceSpec } from '../../core/workspace/spec.ts';
import type { WorkspaceSpec } from '../../core/workspace/workspace.ts';
import type { Field } from './schema.ts';

const words = { type: 'string' } as const;

/** The words of a workspace. Its form has few words, because schemas are announced in a short message. */
export const workspaceField: Field<WorkspaceSpec, false> = {
  optional: false,
  jsonSchema: {
    type: 'object',
    description: 'The folder to run in, which the worker prepares: a folder of a root, a repository, or an empty one.',
    properties: {
      source: { enum: ['shared_fs', 'git', 'empty'] },
      path: words,
      repo: words,
      ref: words,
      commit: words,
      branch: words,
      credential: words,
      publish: { enum: [...PUBLISH_WAYS] },
      keep: { enum: [...KEEP_POLICIES] },
    },
    required: ['source'],
    additionalProperties: false,
  },
  read(value, path, report) {
    const read = readWorkspaceSpec(value);
    if ('spec' in read) return read.spec;
    for (const problem of read.problems) report(path, problem);
    return value as WorkspaceSpec;
  },
};
