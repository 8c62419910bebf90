import type { Handlers } from '../http/route-handler.ts';

export const insightRoutes: Handlers<
  'overview' | 'countTasks' | 'listFailures' | 'listHandlers' | 'listViews' | 'saveView' | 'removeView'
> = {
  overview: ({ insight }) => insight.overview(),

  countTasks: ({ query, insight }) => insight.count(query),

  listFailures: ({ query, insight }) => insight.failures(query.queue),

  async listHandlers({ insight }) {
    return { handlers: await insight.handlers() };
  },

  async listViews({ insight }) {
    return { views: await insight.views() };
  },

  saveView: ({ body, insight, by }) => insight.saveView(body, by),

  async removeView({ params, insight }) {
    await insight.removeView(params.name);
    return {};
  },
};
