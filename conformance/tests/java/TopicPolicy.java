import java.util.Map;

import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.CreateTopicPolicy;

/** A policy that refuses topics with the word "forbidden" in their name (KIP-108). */
public class TopicPolicy implements CreateTopicPolicy {
    @Override
    public void validate(RequestMetadata request) throws PolicyViolationException {
        if (request.topic().contains("forbidden")) {
            throw new PolicyViolationException("names with the word forbidden are not accepted");
        }
    }

    @Override
    public void configure(Map<String, ?> configs) { }

    @Override
    public void close() { }
}
