import { TagService } from '../tags/tag-service.ts';
import type { Operations } from './operation.ts';

export const tagOperations = {
  async listTags(snapshot) {
    return { tags: await new TagService(snapshot).list() };
  },

  createTag: (snapshot, { body: { name }, by = '' }) => new TagService(snapshot).create(name, by),

  renameTag: (snapshot, { params, body, by = '' }) => new TagService(snapshot).rename(params.name, body.name, by),

  removeTag: (snapshot, { params, query: { force = '0' } = {} }) =>
    new TagService(snapshot).remove(params.name, force === '1'),
} satisfies Operations;
